"""The static site: a reviewer's ten minutes. It reads what a report folder holds, and neither
records nor a server.

`python -m workflow.site [--from FOLDER] [-o report]`; a report folder, as figures/reference or
figures/paper, has a folder for each paper.
"""
