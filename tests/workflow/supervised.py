"""Records made as a job makes them, by a supervisor and its child, without a command line.

The child is forked from the test's process: what a test has patched is patched there, too.
"""

from __future__ import annotations

from workflow.run import child
from workflow.run.lease import Lease
from workflow.run.supervisor import Supervisor
from workflow.run.target import Limits, Made, Target


def make(*targets: Target, limits: Limits = Limits()) -> list[Made]:
    """All of them, one by one. Raises Failed, Refused."""
    made = []
    with Supervisor(targets, lambda *ends: child.serve(*ends, targets, limits)) as supervisor:
        for index, target in enumerate(targets):
            with Lease(target.path) as held:
                made.append(supervisor.make(index, held))
    return made


def run(cell, seed: int = 0) -> Target:
    """The target of one seed of a cell."""
    return Target("run", cell, seed, cell.record(seed))
