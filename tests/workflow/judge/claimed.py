"""A claim of a toy paper as its YAML has it: A has less regret than B."""

from workflow.plan.statements import ClaimEntry

LESS = {"test": "less", "metric": "cumulative_regret", "problems": ["p"]}
LESS |= {"left": ["A"], "right": ["B"]}


def claim(check=LESS, **more):
    """The claim with another check, or with more that it says."""
    line = {"id": "c", "where": "Fig. 1", "says": "A has less regret than B", "check": check}
    return {**line, **more}


def typed(check=LESS, **more):
    """The same as those who judge have it."""
    return ClaimEntry.model_validate(claim(check, **more))
