"""The cluster of the tests takes no other's place and ends nothing that it did not start; none of
this needs Slurm.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.slurm import cluster
from tests.slurm.cluster import Cluster, Unavailable


@pytest.fixture
def one(tmp_path, monkeypatch):
    """A cluster that was never started,
    on a machine whose slurm.conf is in a folder of this test.
    """
    monkeypatch.setattr(cluster, "CONFIGURED", tmp_path / "etc" / "slurm.conf")
    found = Cluster(tmp_path / "cluster")
    found.folder.mkdir()
    found.conf.write_text(cluster.CONF)
    return found


def waiting(*arguments, **variables):
    """A process that has started, and ends when it is killed or its input is closed."""
    command = [sys.executable, "-c", "print(flush=True); input()", *arguments]
    process = subprocess.Popen(command, env={**os.environ, **variables}, stdin=-1, stdout=-1)
    process.stdout.readline()
    return process


def test_another_clusters_configuration_is_left_alone(one):
    cluster.CONFIGURED.parent.mkdir()
    cluster.CONFIGURED.write_text("ClusterName=theirs\n")
    with pytest.raises(Unavailable, match="belongs to another cluster"):
        one._link()
    one.stop()
    assert cluster.CONFIGURED.read_text() == "ClusterName=theirs\n"


def test_the_link_of_a_cluster_that_was_killed_is_named_until_its_folder_has_gone(one, tmp_path):
    other = Cluster(tmp_path / "other")
    other.folder.mkdir()
    other.conf.write_text(cluster.CONF)
    other._link()
    with pytest.raises(Unavailable, match=rf"cluster\.py stop {other.folder}"):
        one._link()
    other.conf.unlink()
    one._link()
    assert one.is_linked() and not other.is_linked()


def test_only_a_process_of_its_own_is_ended(one):
    with waiting() as theirs, waiting(str(one.folder)) as own:
        for name, process in (("slurmd", theirs), ("munged", own)):
            (one.folder / f"{name}.started").write_text(f"{process.pid}\n")
            one._end(name)
        assert theirs.poll() is None
        assert own.wait() != 0
        theirs.kill()
    assert list(one.folder.glob("*.started")) == []


def test_the_processes_of_a_job_are_found_by_its_id():
    with waiting(SLURM_JOB_ID="4000000001") as process:
        assert set(cluster.processes("4000000001")) == {process.pid}
        assert cluster.processes("400000000") == {}
        process.kill()


def test_ports_differ():
    assert len(set(cluster.free_ports(3))) == 3
