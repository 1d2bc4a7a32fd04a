"""Plans of toy papers, which the commands of an operator meet in the place of the real ones."""

import pytest

from workflow.operate import verify


@pytest.fixture
def plan_of(tmp_path, monkeypatch):
    """plan_of(toy): its paper alone is planned, at scale `paper`, in the folder of its records."""

    def planned(toy):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(verify.resolve, "planned", lambda *_: ["toy"])
        monkeypatch.setattr(verify.reader, "read", lambda name: {"scales": {"paper": {}}})
        monkeypatch.setattr(verify, "load", lambda name, scale: toy.paper)

    return planned
