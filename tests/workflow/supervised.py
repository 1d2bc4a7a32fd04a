"""Records made as a job makes them, each in a process of its own, without a command line.

That process is forked from the test's: what a test has patched is patched there, too.
"""

from workflow.run import supervisor
from workflow.run.target import Target


def make(*targets):
    """All of them, one by one. Raises Failed."""
    for target in targets:
        supervisor.make(target)


def run(curve, seed=0):
    """The target of one seed of a curve."""
    return Target(curve, seed, curve.record(seed))
