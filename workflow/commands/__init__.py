"""`python -m workflow.NAME`: each file here only starts the program whose name it has.

`python -m workflow` lists them.
"""
