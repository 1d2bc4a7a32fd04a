"""From a paper's YAML to what has to be run.

Data about runs: imports no numerical library, so that thousands are planned at once.
"""
