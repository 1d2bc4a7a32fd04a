"""The workflow itself, on a tiny paper: what reruns, what does not, and what survives."""

import re
import shutil
import sys
from pathlib import Path

import pandas as pd
import pytest

from tests import programs
from tests.workflow import checkout
from tests.workflow.checkout import made
from workflow.trace import record

RESULTS = Path("results", "smoke", "mini", "abalone")
DRAWN = Path("figures", "smoke", "mini")
OWN = ("log", "iocache")  # what Snakemake itself writes into .snakemake whatever it is asked


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A checkout in which the whole DAG has run once; nobody changes it."""
    copy = checkout.make(tmp_path_factory.mktemp("dag"))
    made(copy)
    return copy


@pytest.fixture
def copy(finished, tmp_path):
    """A finished checkout of its own, time stamps and hard links kept."""
    return checkout.another(finished, tmp_path)


def planned(copy, *config):
    """The curves that a dry run would make; None where there is nothing to be done."""
    found = made(copy, "-n", "--quiet", "host", config=config)
    text = found.stdout + found.stderr
    return None if "Nothing to be done" in text else set(re.findall(r"curve=([^,\s]+)", text))


def traces(folder):
    return {
        path.relative_to(folder): record.read(path).header["trace_sha256"]
        for path in folder.rglob("[0-9].parquet")
    }


def written(copy):
    """When folders of the store were written to last."""
    return max(path.stat().st_mtime_ns for path in (copy / "results" / "store").iterdir())


def test_everything_is_made_and_labelled(finished):
    records = sorted((finished / RESULTS).rglob("[0-9].parquet"))
    assert len(records) == 2 * 3 == len(traces(finished / RESULTS))
    assert record.read_header(records[0])["data"].startswith("substitute")
    drawn = finished / DRAWN
    assert all((drawn / f"regret.{kind}").stat().st_size > 0 for kind in ("png", "csv"))
    assert "substitute" in (drawn / "verdicts.json").read_text()


def test_a_comment_reruns_nothing_and_an_edit_of_a_part_whoever_imports_it(copy):
    arms = copy / "algorithms" / "parts" / "arms" / "exact.py"
    checkout.edit(arms, '"""Condition on one observation', '"""Anything else about an observation')
    assert planned(copy) is None
    checkout.edit(arms, "range(2)", "range(1 + 1)")
    assert planned(copy) == {"BKB", "GP-UCB"}


@pytest.mark.slow
def test_a_parameter_reruns_its_runs_alone_and_changed_back_costs_nothing(copy):
    before = traces(copy / RESULTS)
    digest = record.read_header(copy / RESULTS / "BKB" / "0.parquet")["digest"]
    yaml = copy / "papers" / "mini.yaml"
    checkout.edit(yaml, "qbar: 2", "qbar: 3")
    assert planned(copy) == {"BKB"}
    made(copy)
    after = record.read_header(copy / RESULTS / "BKB" / "0.parquet")["digest"]
    kept = (copy / "results" / "store").glob("*/0.parquet")
    assert digest != after
    assert {digest, after} <= {record.read_header(one)["digest"] for one in kept}
    changed = written(copy)
    checkout.edit(yaml, "qbar: 3", "qbar: 2")
    made(copy)
    assert (traces(copy / RESULTS), written(copy)) == (before, changed)
    assert planned(copy) is None


@pytest.mark.slow
def test_outputs_that_are_deleted_are_handed_out_and_what_is_forced_is_computed_again(copy):
    before, changed = traces(copy / RESULTS), written(copy)
    made(copy, "--delete-all-output")
    folders = [copy / name for name in ("results/smoke", "figures/smoke", "data/prepared")]
    assert [path for one in folders for path in one.rglob("*") if path.is_file()] == []
    made(copy)
    assert (traces(copy / RESULTS), written(copy)) == (before, changed)
    path = copy / RESULTS / "BKB" / "0.parquet"
    content = path.read_bytes()
    log = copy / "logs" / "smoke" / "mini" / "abalone" / "BKB" / "0-1.log"
    for asked in ("--force", "--forceall", "-R run_seeds_0_1"):
        made(copy, str(path.relative_to(copy)), *asked.split())
        assert path.read_bytes() == content
        assert "evaluations, complete" in log.read_text(), asked
    assert planned(copy) is None  # an equal record redraws nothing
    checkout.edit(copy / "papers" / "mini.yaml", "qbar: 2", "qbar: 3")
    made(copy, "--touch")
    assert traces(copy / RESULTS) == before and planned(copy) is None


@pytest.mark.slow
def test_what_cannot_be_made_is_a_sentence_before_any_job(copy):
    for target, remedy in [
        ("results/smoke/mini/abalone/BKBB/0.parquet", "no run makes the curve 'BKBB'"),
        ("results/paper/mini/abalone/BKB/0.parquet", "--config scale=paper"),
        ("figures/smoke/mini/regrett.png", "did you mean 'regret'"),
        ("figures/smoke/mino/regret.png", "did you mean 'mini'"),
        ("figures/paper/mini/regret.png", "--config scale=paper"),
        ("regret", "ask for figures/smoke/mini/regret.png"),
    ]:
        found = checkout.snakemake(copy, "-n", target)
        said = found.stderr + found.stdout
        assert found.returncode == 1 and remedy in said
        assert "KeyError" not in said and "MissingRule" not in said
    checkout.edit(copy / "papers" / "mini.yaml", "qbar: 2", "qbarr: 2")
    found = checkout.snakemake(copy)
    assert found.returncode == 1
    assert "unknown parameter qbarr of bkb.BKB" in found.stdout + found.stderr


@pytest.mark.slow
def test_looking_changes_nothing_on_disk(copy):
    (copy / RESULTS / "BKB" / "0.parquet").unlink()

    def seen():
        return {
            path: path.stat().st_mtime_ns
            for path in copy.rglob("*")
            if path.is_file() and not {*OWN, "__pycache__"}.intersection(path.parts)
        }

    shutil.rmtree(copy / ".snakemake" / "given")
    before = seen()
    for asked in ("--lint", "--list", "--summary", "-n --forceall", "-n --delete-all-output"):
        made(copy, *asked.split())
        assert seen() == before, asked


@pytest.mark.slow
def test_what_is_published_is_drawn_without_a_run_or_data_and_only_the_rest_is_run(copy):
    """In a clone with published records nothing else is left of the runs."""
    done = checkout.succeed(copy, "workflow.publish", "--scale", "smoke")
    assert "mini: 6 published" in done.stdout
    shutil.copytree(copy / DRAWN, copy.parent / "before")
    for name in ("results", "figures/smoke", ".snakemake", "data/prepared", "logs"):
        shutil.rmtree(copy / name)
    made(copy)
    assert not list((copy / "results").rglob("*.parquet"))
    assert not (copy / "data/prepared").exists()
    for name in ("regret.csv", "verdicts.json"):
        assert (copy / DRAWN / name).read_bytes() == (copy.parent / "before" / name).read_bytes()
    assert planned(copy) is None
    assert planned(copy, "fresh=1") == {"BKB", "GP-UCB", "uniform"}
    for more, said in [((), "6 runs: 6 published"), (("--fresh",), "6 runs: 6 missing")]:
        told = checkout.run(copy, "workflow.status", "--scale", "smoke", *more)
        assert said in told.stdout, told.stdout + told.stderr

    checkout.edit(copy / "algorithms" / "bkb.py", "len(self.y)", "(len(self.y) + 0)")
    made(copy)
    folders = {path.parent.name for path in (copy / RESULTS).rglob("[0-9].parquet")}
    assert folders == {"BKB"} and planned(copy) is None
    (copy / "figures/reference/records/smoke/mini/abalone/uniform.parquet").unlink()
    assert planned(copy) == {"uniform"}


@pytest.mark.slow
def test_claims_by_readings_wait_for_the_runs_under_them(copy):
    yaml = copy / "papers" / "mini.yaml"
    checkout.edit(yaml, "runs: [{}]", "runs: [{}, {algorithms: [BKB], readings: [wide]}]")
    wide = "readings: {wide: {says: a wider kernel, algorithms: {BKB: {bandwidth: 9}}}}"
    checkout.edit(yaml, "figures:", f"{wide}\nfigures:")
    made(copy)
    table = pd.read_parquet(copy / DRAWN / "verdicts.parquet")
    assert table["setting"].tolist() == ["as printed", "wide"] and set(table["seeds"]) == {2}
    assert "a wider kernel" in (copy / DRAWN / "claims-by-settings.md").read_text()
    assert (copy / DRAWN / "claims-by-settings.png").stat().st_size > 0


@pytest.mark.slow
def test_site_report_and_figures_may_come_in_any_order(copy):
    """The committed site is no output of the workflow; a lost picture is drawn again."""
    shutil.copytree(copy / DRAWN, copy / "figures" / "reference" / "mini")
    shutil.copytree(checkout.ROOT / "docs", copy / "docs")
    for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"):
        shutil.copy(checkout.ROOT / name, copy)
    shutil.copy(checkout.ROOT / "papers" / "README.md", copy / "papers")
    (copy / "papers" / "references.bib").write_text("")
    (copy / DRAWN / "regret.png").unlink()
    checkout.succeed(copy, "workflow.site")
    made(copy, "report")
    assert (copy / DRAWN / "regret.png").exists()
    for name in ("reference", "smoke"):
        assert (copy / "report" / name / "index.html").exists()
    checkout.succeed(copy, "workflow.site")
    assert planned(copy) is None


def test_nothing_inside_snakemake_is_set_and_little_is_read():
    """Rules know of `workflow` the cores, what is forced, and whether anything is run."""
    paths = [checkout.ROOT / "Snakefile", *(checkout.ROOT / "workflow" / "rules").glob("*.smk")]
    code = re.sub(r"#.*|\"[^\"\n]*\"", "", "\n".join(path.read_text() for path in paths))
    imported = r"^ *(?:from|import) workflow[\w.]*"
    used = re.findall(r"\bworkflow\.(\w+)", re.sub(imported, "", code, flags=re.MULTILINE))
    assert set(used) == {"cores", "dag_settings", "dryrun", "executor_plugin"}
    assert not re.search(r"\bworkflow\.[\w.]+ *=[^=]", code)


def test_snakemake_is_bounded_and_the_snakefile_says_the_same():
    """Profiles and hooks are written for the versions that pyproject.toml admits."""
    text = (checkout.ROOT / "pyproject.toml").read_text()
    ((lowest, highest),) = re.findall(r'"snakemake>=([\d.]+),<(\d+)"', text)
    assert f'min_version("{lowest}")' in (checkout.ROOT / "Snakefile").read_text()
    assert int(highest) == int(lowest.partition(".")[0]) + 1


@pytest.mark.slow
def test_a_configuration_may_be_a_file_with_lists(finished, tmp_path):
    """What the file says stands where the command line says nothing else."""
    for text, code, said in (
        ("papers: [mini]", 0, "Nothing to be done"),
        ("papers: {mini: 1}", 1, "is not of type"),
        ("seeds: [0, 1]", 1, "is not of type"),
        ("papers: [mino]", 1, "did you mean 'mini'"),
    ):
        (tmp_path / "config.yaml").write_text(f"{text}\n")
        done = checkout.snakemake(finished, "-n", "--configfile", str(tmp_path / "config.yaml"))
        assert done.returncode == code and said in done.stdout + done.stderr, done.stderr


IMPORTER = """
rule mine:
    output: "mine.txt"
    shell: "echo mine > {output}"
module noregret:
    snakefile: "PLACE/workflow/Snakefile"
    config: {"scale": "smoke", "papers": ["mini"]}
    prefix: "nr"
use rule * from noregret as noregret_*
"""


@pytest.mark.slow
def test_another_workflow_imports_this_one_under_a_prefix_and_keeps_its_own_target(
    finished, tmp_path
):
    """One core makes the traces of two."""
    place = tmp_path / "importer"
    (place / "nr" / "data").mkdir(parents=True)
    (place / "Snakefile").write_text(IMPORTER.replace("PLACE", str(finished)))
    (place / "data").symlink_to(finished / "data")
    (place / "nr" / "data" / "manifest.yaml").symlink_to(finished / "data" / "manifest.yaml")
    environment = {**checkout.offline(finished), "NOREGRET_SUBSTITUTES": "preferred"}

    def run(*arguments):
        command = [sys.executable, "-m", "snakemake", "--cores", "1", *arguments]
        return programs.run(command, cwd=place, env=environment)

    assert run().returncode == 0 and (place / "mine.txt").exists()
    assert not list(place.rglob("*.png"))
    done = run("nr/figures/smoke/mini/regret.png")
    assert done.returncode == 0, done.stderr
    assert (place / "nr" / DRAWN / "regret.png").exists()
    assert traces(place / "nr" / "results" / "smoke") == traces(finished / "results" / "smoke")
