"""The workflow where nothing is shared: every job runs in a fresh folder, with the sources that Git
knows and the files that its rule names, as in a pod of Kubernetes.
"""

import pytest

from tests import programs
from tests.workflow import checkout
from tests.workflow.repository import Repository
from workflow.trace import record

SUBMIT = """#!/bin/sh
mkdir -p {jobs}
cd "$(mktemp -d {jobs}/XXXXXX)"
cp "$1" script
sh "$1" > log 2>&1
echo $? > status
pwd
"""
STATUS = """#!/bin/sh
if [ "$(cat "$1/status")" = 0 ]; then echo success; else echo failed; fi
"""


def run_in_folders(root, storage, prefix, **variables):
    """Run a small paper whose files lie in `storage`, each job in an empty folder of its own."""
    repository = Repository(root)
    repository.git("add", ".")
    repository.git("commit", "-q", "-m", "all")
    jobs = root / "jobs"
    for name, text in (("submit", SUBMIT), ("status", STATUS)):
        (root / name).write_text(text.format(jobs=jobs))
        (root / name).chmod(0o755)
    command = [
        *("-m", "snakemake", "--executor", "cluster-generic", "--jobs", "2"),
        *("--cluster-generic-submit-cmd", str(root / "submit")),
        *("--cluster-generic-status-cmd", str(root / "status")),
        *("--seconds-between-status-checks", "1", "--max-jobs-per-timespan", "9/1s"),
        *("--shared-fs-usage", "none", "--job-deploy-sources"),
        *("--default-storage-provider", storage, "--default-storage-prefix", prefix),
        "--forceall",
        *("--config", "scale=smoke"),
    ]
    environment = {**checkout.offline(repository.root), "NOREGRET_SUBSTITUTES": "preferred"}
    del environment["PYTHONPATH"]  # a job has the sources that Snakemake sends
    made = programs.python(*command, cwd=repository.root, env=environment | variables)
    logs = "\n".join(path.read_text() for path in jobs.glob("*/log"))
    assert made.returncode == 0, made.stderr + logs
    assert not list(repository.root.glob("results")) and not list(repository.root.glob("figures"))
    # three curves, a figure and the verdicts; what is fetched is fetched here
    assert len(list(jobs.iterdir())) == 5
    # whether the executor hands on variables or not
    assert all("NOREGRET_AGAIN='1'" in path.read_text() for path in jobs.glob("*/script"))


@pytest.mark.slow
def test_files_come_by_s3_as_in_the_profile_of_kubernetes(tmp_path, monkeypatch):
    # here, for both take as long to load as many a test
    import boto3
    from moto.server import ThreadedMotoServer

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "anything")
    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address, region = f"http://{host}:{port}", "us-east-1"
    client = boto3.client("s3", endpoint_url=address, region_name=region)
    client.create_bucket(Bucket="noregret")
    options = {"ENDPOINT_URL": address, "REGION": region}
    options |= {"ACCESS_KEY": "anything", "SECRET_KEY": "anything"}
    variables = {f"SNAKEMAKE_STORAGE_S3_{name}": value for name, value in options.items()}
    run_in_folders(tmp_path, "s3", "s3://noregret", **variables, NO_PROXY=host)
    for found in client.list_objects_v2(Bucket="noregret")["Contents"]:
        path = tmp_path / "bucket" / found["Key"]
        path.parent.mkdir(parents=True, exist_ok=True)
        client.download_file("noregret", found["Key"], str(path))
    server.stop()
    records = sorted((tmp_path / "bucket" / "results").rglob("*.parquet"))
    assert len(records) == 6 and all(record.read(path) for path in records)
    drawn = {path.name for path in (tmp_path / "bucket" / "figures" / "smoke" / "mini").iterdir()}
    assert {"regret.png", "regret.csv", "verdicts.json"} <= drawn
