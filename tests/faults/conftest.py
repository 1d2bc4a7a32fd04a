"""One undisturbed run, with which all others are compared."""

import shutil

import pytest

from tests.faults import steep
from tests.workflow import checkout


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory):
    """A checkout in which the workflow has made all records once; nobody changes it."""
    copy = steep.make(tmp_path_factory.mktemp("undisturbed"))
    steep.made(copy)
    assert len(steep.traces(copy)) == steep.SEEDS
    return copy


@pytest.fixture(scope="session")
def expected(undisturbed):
    """The trace of every record of the undisturbed run."""
    return steep.traces(undisturbed)


@pytest.fixture
def finished(undisturbed, tmp_path):
    """A finished checkout of its own, time stamps kept."""
    return checkout.another(undisturbed, tmp_path)


@pytest.fixture
def empty(finished):
    """A checkout in which nothing was made."""
    for name in ("results", "logs", ".snakemake"):
        shutil.rmtree(finished / name)
    return finished
