"""Plans of small papers that somebody changed."""

import copy

import pytest

from tests.workflow.checkout import linked, write
from workflow.plan.expand import load


@pytest.fixture
def planner(tmp_path):
    """planner(name, entry) -> planned(change, scale), a plan by the real code."""
    linked(tmp_path)

    def of(name, entry):
        def planned(change=lambda entry: None, scale="paper"):
            changed = copy.deepcopy(entry)
            change(changed)
            write(tmp_path, name, changed)
            return load(name, scale, root=tmp_path)

        return planned

    return of
