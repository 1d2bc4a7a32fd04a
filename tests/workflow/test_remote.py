"""The workflow where nothing is shared: every job runs in a fresh folder, with the sources that Git
knows and the files that its rule names, as in a pod of Kubernetes.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.workflow import checkout
from tests.workflow.repository import Repository
from workflow.trace import record

SUBMIT = """#!/bin/sh
mkdir -p {jobs}
cd "$(mktemp -d {jobs}/XXXXXX)"
sh "$1" > log 2>&1
echo $? > status
pwd
"""
STATUS = """#!/bin/sh
if [ "$(cat "$1/status")" = 0 ]; then echo success; else echo failed; fi
"""


@pytest.mark.slow
def test_every_job_runs_in_a_folder_of_its_own_and_files_come_by_a_storage(tmp_path):
    repository = Repository(tmp_path)
    repository.git("add", ".")
    repository.git("commit", "-q", "-m", "all")
    bucket, jobs = tmp_path / "bucket", tmp_path / "jobs"
    bucket.mkdir()
    for name, text in (("submit", SUBMIT), ("status", STATUS)):
        (tmp_path / name).write_text(text.format(jobs=jobs))
        (tmp_path / name).chmod(0o755)
    command = [
        *("-m", "snakemake", "--executor", "cluster-generic", "--jobs", "2"),
        *("--cluster-generic-submit-cmd", str(tmp_path / "submit")),
        *("--cluster-generic-status-cmd", str(tmp_path / "status")),
        *("--seconds-between-status-checks", "1", "--max-jobs-per-timespan", "9/1s"),
        *("--shared-fs-usage", "none", "--job-deploy-sources"),
        *("--default-storage-provider", "fs", "--default-storage-prefix", str(bucket)),
        *("--config", "scale=smoke"),
    ]
    environment = {**checkout.offline(repository.root), "NOREGRET_SUBSTITUTES": "preferred"}
    del environment["PYTHONPATH"]  # a job has the sources that Snakemake sends
    made = subprocess.run(
        [sys.executable, *command],
        cwd=repository.root,
        env=environment,
        capture_output=True,
        text=True,
    )
    logs = "\n".join(path.read_text() for path in jobs.glob("*/log"))
    assert made.returncode == 0, made.stderr + logs
    records = sorted((bucket / "results").rglob("*.parquet"))
    assert len(records) == 6 and all(record.read(path) for path in records)
    drawn = {path.name for path in (bucket / "figures" / "smoke" / "mini").iterdir()}
    assert {"regret.png", "regret.csv", "verdicts.json"} <= drawn
    assert not list(repository.root.glob("results")) and not list(repository.root.glob("figures"))
    # three curves, a figure and the verdicts; what is fetched is fetched here
    assert len(list(jobs.iterdir())) == 5
