"""Lock, conda environment and containers say the same; Snakemake reads the profiles and
workflow/Snakefile.

No image or conda environment is made here: that takes machines that this test does not ask for.
"""

import re
import shutil
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from snakemake.cli import get_argument_parser
from snakemake.profiles import ProfileConfigFileParser
from snakemake_interface_executor_plugins.registry import ExecutorPluginRegistry

from tests import programs
from tests.workflow import checkout

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = PROJECT["project"]["optional-dependencies"]
RUNNING = [
    *PROJECT["project"]["dependencies"],
    *(line for extra, lines in EXTRAS.items() if extra not in ("dev", "peers") for line in lines),
]
DOCKER = ROOT / "envs" / "Dockerfile"
LOCKS = sorted((ROOT / "envs").glob("*.lock"))
CORE = ROOT / "envs" / "core.yaml"
*BY_CONDA, OF_PIP = yaml.safe_load(CORE.read_text(encoding="utf-8"))["dependencies"]
BY_PIP = OF_PIP["pip"]
PROFILES = sorted((ROOT / "profiles").glob("*/config.yaml"))
SBATCH = ("SBATCH_ACCOUNT", "SBATCH_PARTITION")


@pytest.fixture(scope="module")
def pinned():
    """The version of each distribution that the locks pin for this Python, by name."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in LOCKS)
    lines = re.findall(r"^[A-Za-z0-9][^\\\n]*", text, re.MULTILINE)
    found = [Requirement(line.split(" #")[0]) for line in lines]
    here = [line for line in found if line.marker is None or line.marker.evaluate()]
    return {canonicalize_name(line.name): str(line.specifier).removeprefix("==") for line in here}


def conda_versions():
    """The version of every package that comes by pip, and of conda's `connection-pool`, by name."""
    found = [one for one in map(Requirement, BY_PIP) if one.url is None]
    named = {canonicalize_name(one.name): str(one.specifier).removeprefix("==") for one in found}
    (pool,) = [line for line in BY_CONDA if line.startswith("connection_pool=")]
    return {**named, "connection-pool": pool.partition("=")[2]}


def test_what_the_project_names_is_pinned_and_admitted(pinned):
    lines = [
        *PROJECT["project"]["dependencies"],
        *(one for some in EXTRAS.values() for one in some),
    ]
    wanted = map(Requirement, lines)
    assert [one for one in wanted if pinned[canonicalize_name(one.name)] not in one.specifier] == []


def test_conda_versions_are_those_of_the_lock(pinned):
    versions = conda_versions()
    assert versions.pop("torch") == pinned["torch"].removesuffix("+cpu")
    assert versions.items() <= pinned.items()
    assert [line.partition("=")[0] for line in BY_CONDA] == ["python", "pip", "connection_pool"]


def test_the_core_environment_names_what_runs_and_why():
    text = CORE.read_text(encoding="utf-8")
    named = {canonicalize_name(Requirement(line).name) for line in RUNNING}
    assert named | {"connection-pool"} == set(conda_versions())
    versions = re.findall(r"^      - [\w-]+==.*", text, re.MULTILINE)
    assert all(" # " in line for line in versions if "torch==" not in line)
    torch = (ROOT / "envs" / "requirements-torch.lock").read_text(encoding="utf-8")
    for line, machine in zip(BY_PIP, ("x86_64", "aarch64"), strict=False):
        assert "/torch-2.13.0%2Bcpu-cp311-cp311-" in line and f"_{machine}.whl#" in line
        assert f'sys_platform == "linux" and platform_machine == "{machine}"' in line
        assert re.search(r"#sha256=(\w+)", line)[1] in torch


def test_all_name_one_python():
    lowest = PROJECT["project"]["requires-python"].removeprefix(">=")
    assert PROJECT["tool"]["mypy"]["python_version"] == lowest
    assert PROJECT["tool"]["ruff"]["target-version"] == f"py{lowest.replace('.', '')}"
    assert f"python={lowest}" in BY_CONDA
    docker = DOCKER.read_text(encoding="utf-8")
    (base,) = re.findall(r"^ARG BASE=(\S+)@", docker, re.MULTILINE)
    assert base == f"python:{lowest}-slim-bookworm"
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert f"not ({lowest.replace('.', ', ')}) <= sys.version_info < (3, 14)" in makefile


def test_containers_hold_what_the_workflow_reads_and_nothing_else():
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    admitted = {line[1:] for line in lines if line.startswith("!")}
    assert all(list(ROOT.glob(name)) for name in admitted)
    found = PROJECT["tool"]["setuptools"]["packages"]["find"]
    packages = {name.rstrip("*") for name in found["include"]}
    described = {PROJECT["project"]["readme"], *PROJECT["project"]["license-files"]}
    described.add("pyproject.toml")
    read = {"Snakefile", "papers", "data/manifest.yaml", "data/shipped", "simulators/*.cc"}
    read |= {"envs", "profiles"}
    assert admitted == packages | described | read


def options(path):
    """A profile as Snakemake hears it: the words of each option by its name."""
    with path.open() as file:
        found = ProfileConfigFileParser().parse(file)
    return {key: value if isinstance(value, list) else [str(value)] for key, value in found.items()}


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.parent.name)
def test_a_profile_consists_of_options_that_snakemake_knows(path, monkeypatch):
    parser = get_argument_parser()
    known = {option for action in parser._actions for option in action.option_strings}
    told = {"NOREGRET_IMAGE": "here/noregret", "NOREGRET_STORAGE": "s3://b", "SBATCH_ACCOUNT": "a"}
    for name in (*told, *SBATCH):
        monkeypatch.delenv(name, raising=False)
    for environment in ({}, told):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        found = options(path)
        (executor,) = found.get("executor", ["local"])
        if executor not in ExecutorPluginRegistry().plugins:  # its options are then unknown
            own = {key for key in found if key.startswith(f"{executor}-")} | {"executor"}
            found = {key: words for key, words in found.items() if key not in own}
        assert {f"--{key}" for key in found} <= known
        words = [
            word
            for key, value in found.items()
            for word in (f"--{key}", *(map(str, value) if value != ["True"] else ()))
        ]
        chosen = parser.parse_args(words)
        assert chosen.scheduler == "greedy" and chosen.rerun_incomplete and chosen.keep_going
        # of the longest run; a row has fewer than 40 numbers of eight bytes
        papers = [yaml.safe_load(path.read_text()) for path in (ROOT / "papers").glob("*.yaml")]
        problems = [each for paper in papers for each in paper.get("problems", {}).values()]
        longest = max(problem.get("budget", 0) for problem in problems)
        assert chosen.max_checksum_file_size > longest * 40 * 8


def test_slurm_is_told_account_and_partition_only_where_they_are_named(monkeypatch):
    path = ROOT / "profiles" / "slurm" / "config.yaml"
    for name in SBATCH:
        monkeypatch.delenv(name, raising=False)
    assert options(path)["default-resources"] == ["mem_mb=2000", "runtime=60"]
    monkeypatch.setenv("SBATCH_ACCOUNT", "2026-a")
    monkeypatch.setenv("SBATCH_PARTITION", "long")
    named = ["slurm_account='2026-a'", "slurm_partition='long'"]
    assert options(path)["default-resources"][2:] == named
    assert options(path)["retries"] == ["2"]
    assert "set-resources" not in options(path)


@pytest.mark.parametrize(
    ("answer", "command"), [("exit 0", None), ("exit 1", ["squeue"]), (None, ["squeue"])]
)
def test_slurm_is_asked_by_squeue_where_there_is_no_accounting(
    answer, command, tmp_path, monkeypatch
):
    for name in ("timeout", "sh"):
        (tmp_path / name).symlink_to(shutil.which(name))
    if answer:
        (tmp_path / "sacct").write_text(f"#!{tmp_path}/sh\n{answer}\n")
        (tmp_path / "sacct").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = options(ROOT / "profiles" / "slurm" / "config.yaml")
    assert found.get("slurm-status-command") == command
    assert ("slurm-no-account" in found) == (command is not None)


def test_a_rule_says_what_it_does_and_what_a_cluster_asks_for():
    folder = ROOT / "workflow" / "rules"
    paths = [ROOT / "Snakefile", ROOT / "workflow" / "Snakefile", *sorted(folder.glob("*.smk"))]
    text = "".join(path.read_text() for path in paths)
    for body in re.split(r"^ *rule(?: \w+)?:$", text, flags=re.MULTILINE)[1:]:
        assert re.match(r'\n +"""[A-Z].*\."""\n', body), body
        shells = len(re.findall(r"^ +shell:", body, re.MULTILINE))
        assert shells <= 1, body  # else a rule was overlooked
        if shells:
            assert all(f"{resource}=" in body for resource in ("mem_mb", "runtime"))
            environment = re.search(r'conda:\n +"(\S+)"', body)[1]
            assert (folder / environment).resolve() == CORE


def test_pods_have_the_image_that_rules_name_and_share_no_files(monkeypatch):
    for name in ("NOREGRET_IMAGE", "NOREGRET_STORAGE"):
        monkeypatch.delenv(name, raising=False)
    path = ROOT / "profiles" / "kubernetes" / "config.yaml"
    found = options(path)
    assert found["executor"] == ["kubernetes"] and found["default-storage-provider"] == ["s3"]
    (image,) = found["container-image"]
    assert f'os.environ.get("NOREGRET_IMAGE", "{image}")' in (ROOT / "Snakefile").read_text()
    assert f"-t {image} " in DOCKER.read_text()
    monkeypatch.setenv("NOREGRET_IMAGE", "here/noregret@sha256:ab")
    assert options(path)["container-image"] == ["here/noregret@sha256:ab"]
    assert "NOT EXECUTED" in path.read_text()


def test_the_configuration_that_is_read_is_the_one_that_is_described():
    schema = yaml.safe_load((ROOT / "workflow" / "schemas" / "config.schema.yaml").read_text())
    read = set(schema["properties"])
    described = (ROOT / "config" / "README.md").read_text()
    assert read == set(re.findall(r"^\| `(\w+)` \|", described, re.MULTILINE))
    example = yaml.safe_load(re.search(r"```yaml\n(.*?)```", described, re.DOTALL)[1])
    assert set(example) <= read


@pytest.mark.slow
def test_the_workflow_can_be_imported_from_elsewhere_although_a_folder_has_its_name(tmp_path):
    """As config/README.md says, into an empty directory; jobs import the package of the clone."""
    copy, place = checkout.make(tmp_path), tmp_path / "elsewhere"
    with (copy / "workflow" / "__init__.py").open("a") as file:
        file.write('print("the clone is imported")\n')
    text = (ROOT / "config" / "README.md").read_text()
    snakefile, *_ = re.findall(r"^```\n(configfile.*?)^```", text, re.MULTILINE | re.DOTALL)
    for name, text in (
        ("workflow/Snakefile", snakefile.replace("/path/to/noregret", str(copy))),
        ("config/config.yaml", "scale: smoke\n"),
        ("data/manifest.yaml", (copy / "data" / "manifest.yaml").read_text()),
    ):
        (place / name).parent.mkdir(parents=True)
        (place / name).write_text(text)
    environment = checkout.offline(copy)
    del environment["PYTHONPATH"]  # nothing but the Snakefile tells where the package lies
    command = ["snakemake", "--cores", "1", "--scheduler", "greedy"]

    def said(*arguments):
        done = programs.run([*command, *arguments], cwd=place, env=environment)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    counts = re.findall(r"^noregret_(\w+) +\d+$", said("-n", "--quiet", "host", "rules"), re.M)
    made = {"fetch_or_substitute", "run_seeds_0_1", "figure", "verdicts", "everything"}
    assert made <= set(counts)
    said("data/prepared/or-substitute/abalone.parquet")
    log = place / "logs" / "fetch" / "abalone-or-substitute.log"
    assert "the clone is imported" in log.read_text()
