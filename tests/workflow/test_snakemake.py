"""The workflow itself, on a tiny paper: what reruns, what does not, and what survives."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys

import pandas as pd
import pytest

from tests.workflow import checkout
from workflow.trace import record


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A copy in which the whole DAG has run once."""
    copy = checkout.make(tmp_path_factory.mktemp("dag"))
    made = checkout.snakemake(copy)
    assert made.returncode == 0, made.stderr
    return copy


@pytest.fixture
def copy(finished, tmp_path):
    """A finished checkout of its own, time stamps kept."""
    return shutil.copytree(finished, tmp_path / "checkout", copy_function=shutil.copy2)


def planned(copy, *config):
    """The jobs that a dry run would make, as rule names and curves."""
    found = checkout.snakemake(copy, "-n", "--quiet", "host", config=config)
    assert found.returncode == 0, found.stderr
    text = found.stdout + found.stderr
    return {
        line.split("curve=")[1].split(",")[0] for line in text.splitlines() if "curve=" in line
    }, "Nothing to be done" in text


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_everything_is_made_and_labelled(finished):
    records = sorted((finished / "results" / "smoke" / "mini" / "abalone").rglob("[0-9].parquet"))
    assert len(records) == 2 * 3
    assert all(record.read(path) for path in records)
    assert record.read_header(records[0])["data"].startswith("substitute")
    drawn = finished / "figures" / "smoke" / "mini"
    assert all((drawn / f"regret.{kind}").stat().st_size > 0 for kind in ("pdf", "png", "csv"))
    assert "substitute" in json.dumps(json.loads((drawn / "verdicts.json").read_text()))


def test_a_second_run_does_nothing(copy):
    assert planned(copy) == (set(), True)


def test_a_comment_reruns_nothing(copy):
    edit(
        copy / "algorithms" / "bkb.py", "class BKB(Optimizer):", "# a remark\nclass BKB(Optimizer):"
    )
    linalg = copy / "algorithms" / "parts" / "numerics" / "linalg.py"
    edit(linalg, '"""Factorisations', '"""Some factorisations')
    assert planned(copy) == (set(), True)


def test_an_edit_of_one_algorithm_reruns_its_runs_only(copy):
    edit(copy / "algorithms" / "bkb.py", "len(self.y)", "(len(self.y) + 0)")
    assert planned(copy)[0] == {"BKB"}


def test_an_edit_of_a_part_reruns_whoever_imports_it(copy):
    edit(copy / "algorithms" / "parts" / "arms" / "exact.py", "range(2)", "range(1 + 1)")
    assert planned(copy)[0] == {"BKB", "GP-UCB"}


def test_a_parameter_reruns_its_runs_only_and_keeps_the_old_record(copy):
    path = copy / "results" / "smoke" / "mini" / "abalone" / "BKB" / "0.parquet"
    before = record.read_header(path)["digest"]
    edit(copy / "papers" / "mini.yaml", "qbar: 2", "qbar: 3")
    assert planned(copy)[0] == {"BKB"}
    assert checkout.snakemake(copy).returncode == 0
    after = record.read_header(path)["digest"]
    kept = (copy / "results" / "store").glob("*/0.parquet")
    assert before != after
    assert {before, after} <= {record.read_header(one)["digest"] for one in kept}


@pytest.mark.slow
def test_one_core_and_two_give_identical_traces(finished, tmp_path):
    other = checkout.make(tmp_path)
    assert checkout.snakemake(other, cores=1).returncode == 0
    for path in sorted(
        (finished / "results" / "smoke" / "mini" / "abalone").rglob("[0-9].parquet")
    ):
        twin = other / path.relative_to(finished)
        assert record.read(twin).header["trace_sha256"] == record.read(path).header["trace_sha256"]


@pytest.mark.slow
@pytest.mark.parametrize("harm", ["half-written", "foreign", "stale", "missing"])
def test_a_bad_record_is_refused_by_name_also_without_the_workflow_state(copy, harm):
    shutil.rmtree(copy / ".snakemake")
    path = copy / "results" / "smoke" / "mini" / "abalone" / "BKB" / "1.parquet"
    found = record.read(path)
    if harm == "half-written":
        path.write_bytes(path.read_bytes()[:1000])
    elif harm == "foreign":
        path.write_text("somebody's notes")
    elif harm == "stale":
        record.write(path, {**found.header, "digest": "of other code"}, found.columns)
    else:
        path.unlink()
    shutil.rmtree(copy / "figures")
    refused = checkout.run(copy, "workflow.report", "mini", "verdicts", "--scale", "smoke")
    assert refused.returncode == 1
    assert "1.parquet" in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.slow
def test_a_target_that_no_rule_makes_is_a_sentence(finished):
    for target, remedy in [
        ("results/smoke/mini/abalone/BKBB/0.parquet", "no run makes the curve 'BKBB'"),
        ("results/paper/mini/abalone/BKB/0.parquet", "--config scale=paper"),
        ("figures/smoke/mini/regrett.png", "did you mean 'regret'"),
        ("figures/smoke/mino/regret.png", "did you mean 'mini'"),
        ("figures/paper/mini/regret.png", "--config scale=paper"),
    ]:
        found = checkout.snakemake(finished, "-n", target)
        assert found.returncode == 1
        said = found.stderr + found.stdout
        assert remedy in said and "KeyError" not in said and "MissingRule" not in said


def traces(folder):
    return {
        path.relative_to(folder): record.read_header(path)["trace_sha256"]
        for path in folder.rglob("[0-9].parquet")
    }


@pytest.mark.slow
def test_finished_records_are_kept_whatever_becomes_of_the_job(copy):
    """An output that is lost is handed out again, and none that is there is touched."""
    folder = copy / "results" / "smoke" / "mini" / "abalone"
    before = traces(folder)
    (folder / "BKB" / "1.parquet").unlink()
    changed = edit_time(copy / "results" / "store")
    assert checkout.snakemake(copy).returncode == 0
    assert traces(folder) == before
    assert edit_time(copy / "results" / "store") == changed  # nothing was computed


def edit_time(store):
    """When folders of the store were written to last."""
    return max(path.stat().st_mtime_ns for path in store.iterdir())


@pytest.mark.slow
def test_a_parameter_that_is_changed_back_costs_nothing(copy):
    yaml, store = copy / "papers" / "mini.yaml", copy / "results" / "store"
    edit(yaml, "qbar: 2", "qbar: 3")
    assert checkout.snakemake(copy).returncode == 0
    changed = edit_time(store)
    edit(yaml, "qbar: 3", "qbar: 2")
    assert planned(copy)[0] == {"BKB"}
    assert checkout.snakemake(copy).returncode == 0
    assert edit_time(store) == changed
    assert planned(copy) == (set(), True)


@pytest.mark.slow
def test_what_is_forced_is_computed_again_and_an_equal_record_redraws_nothing(copy):
    path = copy / "results" / "smoke" / "mini" / "abalone" / "BKB" / "0.parquet"
    before, log = path.read_bytes(), copy / "logs" / "smoke" / "mini" / "abalone" / "BKB"
    assert checkout.snakemake(copy, "--force", str(path.relative_to(copy))).returncode == 0
    assert path.read_bytes() == before
    assert "evaluations, complete" in "".join(one.read_text() for one in log.glob("*.log"))
    assert planned(copy) == (set(), True)


@pytest.mark.slow
def test_all_outputs_are_deleted_and_handed_out_again(copy):
    folder = copy / "results" / "smoke" / "mini" / "abalone"
    before, changed = traces(folder), edit_time(copy / "results" / "store")
    assert checkout.snakemake(copy, "--delete-all-output").returncode == 0
    assert (
        traces(folder) == {} and not (copy / "figures" / "smoke" / "mini" / "regret.png").exists()
    )
    assert checkout.snakemake(copy).returncode == 0
    assert traces(folder) == before and edit_time(copy / "results" / "store") == changed


@pytest.mark.slow
def test_looking_changes_nothing_on_disk(copy):
    (copy / "results" / "smoke" / "mini" / "abalone" / "BKB" / "0.parquet").unlink()

    def seen():
        return {
            path: path.stat().st_mtime_ns
            for path in copy.rglob("*")
            if path.is_file() and not {".snakemake", "__pycache__"}.intersection(path.parts)
        }

    before = seen()
    for asked in ("-n", "--list", "--lint", "--summary", "-n --forceall"):
        checkout.snakemake(copy, *asked.split())
        assert seen() == before, asked


@pytest.fixture
def published(copy):
    """A clone with published records and a finished report: nothing else is left of the runs."""
    made = checkout.run(copy, "workflow.publish", "--scale", "smoke")
    assert made.returncode == 0 and "mini: 6 published" in made.stdout, made.stderr
    report = copy / "figures" / "smoke" / "mini"
    shutil.copytree(report, copy.parent / "before")
    for name in ("results", "figures/smoke", ".snakemake", "data/prepared", "logs"):
        shutil.rmtree(copy / name)
    return copy


@pytest.mark.slow
def test_what_is_published_is_drawn_and_judged_without_a_run_or_data(published):
    made = checkout.snakemake(published)
    assert made.returncode == 0, made.stderr
    assert not list((published / "results").rglob("*.parquet"))
    assert not (published / "data/prepared").exists()
    for name in ("regret.csv", "verdicts.json"):
        drawn = published / "figures" / "smoke" / "mini" / name
        assert drawn.read_bytes() == (published.parent / "before" / name).read_bytes()
    assert planned(published) == (set(), True)
    told = checkout.run(published, "workflow.status", "--scale", "smoke")
    assert "6 runs: 6 published" in told.stdout, told.stdout + told.stderr
    assert planned(published, "fresh=1")[0] == {"BKB", "GP-UCB", "uniform"}
    told = checkout.run(published, "workflow.status", "--scale", "smoke", "--fresh")
    assert "6 runs: 6 missing" in told.stdout


@pytest.mark.slow
def test_only_what_is_not_published_by_the_present_code_is_run(published):
    edit(published / "algorithms" / "bkb.py", "len(self.y)", "(len(self.y) + 0)")
    assert planned(published)[0] == {"BKB"}
    kept = published / "figures/reference/records/smoke/mini/abalone/uniform.parquet"
    content = kept.read_bytes()
    kept.unlink()
    assert planned(published)[0] == {"BKB", "uniform"}
    kept.write_bytes(content)
    made = checkout.snakemake(published)
    assert made.returncode == 0, made.stderr
    folder = published / "results" / "smoke" / "mini" / "abalone"
    assert {path.parent.name for path in folder.rglob("[0-9].parquet")} == {"BKB"}
    assert planned(published) == (set(), True)


@pytest.mark.slow
def test_claims_by_readings_wait_for_the_runs_under_them(copy):
    edit(
        copy / "papers" / "mini.yaml",
        "runs: [{}]",
        "runs: [{}, {algorithms: [BKB], readings: [wide]}]",
    )
    edit(
        copy / "papers" / "mini.yaml",
        "figures:",
        "readings: {wide: {says: a wider kernel, algorithms: {BKB: {bandwidth: 9}}}}\nfigures:",
    )
    made = checkout.snakemake(copy)
    assert made.returncode == 0, made.stderr
    drawn = copy / "figures" / "smoke" / "mini"
    table = pd.read_parquet(drawn / "verdicts.parquet")
    assert table["setting"].tolist() == ["as printed", "wide"] and set(table["seeds"]) == {2}
    assert "a wider kernel" in (drawn / "claims-by-settings.md").read_text()
    assert (drawn / "claims-by-settings.png").stat().st_size > 0


@pytest.mark.slow
def test_site_report_and_figures_may_come_in_any_order(copy):
    """The committed report's site is no output of the workflow, and a picture that is lost is drawn
    again for the report.
    """
    drawn = copy / "figures" / "smoke" / "mini"
    shutil.copytree(drawn, copy / "figures" / "reference" / "mini")
    (copy / "papers" / "findings.yaml").write_text("[]\n")
    (copy / "papers" / "references.bib").write_text("")
    shutil.rmtree(drawn)
    assert checkout.run(copy, "workflow.site").returncode == 0
    first = checkout.snakemake(copy, "report")
    assert first.returncode == 0, first.stderr
    assert (copy / "report" / "reference" / "index.html").exists() and (
        copy / "report" / "smoke" / "index.html"
    ).exists()
    assert (drawn / "regret.png").exists()
    (drawn / "regret.png").unlink()
    assert checkout.snakemake(copy, "report").returncode == 0
    assert (drawn / "regret.png").exists()
    assert checkout.run(copy, "workflow.site").returncode == 0
    assert planned(copy)[1]


def test_nothing_inside_snakemake_is_set_and_little_is_read():
    """Of Snakemake's own object `workflow` the rules know the number of cores, and what is
    forced.
    """
    paths = [checkout.ROOT / "Snakefile", *(checkout.ROOT / "workflow" / "rules").glob("*.smk")]
    code = re.sub(r"#.*|\"[^\"\n]*\"", "", "\n".join(path.read_text() for path in paths))
    imported = r"^ *(?:from|import) workflow[\w.]*"
    used = re.findall(r"\bworkflow\.(\w+)", re.sub(imported, "", code, flags=re.MULTILINE))
    assert set(used) == {"cores", "dag_settings"}
    assert not re.search(r"\bworkflow\.[\w.]+ *=[^=]", code)


def test_snakemake_is_bounded_and_the_snakefile_says_the_same():
    """Profiles and hooks are written for the versions that pyproject.toml admits."""
    text = (checkout.ROOT / "pyproject.toml").read_text()
    ((lowest, highest),) = re.findall(r'"snakemake>=([\d.]+),<(\d+)"', text)
    assert f'min_version("{lowest}")' in (checkout.ROOT / "Snakefile").read_text()
    assert int(highest) == int(lowest.partition(".")[0]) + 1


def test_a_mistake_in_the_yaml_stops_before_any_job(copy):
    edit(copy / "papers" / "mini.yaml", "qbar: 2", "qbarr: 2")
    found = checkout.snakemake(copy)
    assert found.returncode == 1
    assert "unknown parameter qbarr of bkb.BKB" in found.stdout + found.stderr


@pytest.mark.slow
def test_a_configuration_may_be_a_file_with_lists(copy):
    (copy / "config" / "config.yaml").write_text("scale: smoke\npapers: [mini]\n")
    done = checkout.run(copy, "snakemake", "--cores", "1", "-n")
    assert done.returncode == 0 and "Nothing to be done" in done.stdout + done.stderr
    for text, said in (
        ("papers: {mini: 1}", "is not of type"),
        ("seeds: [0, 2]", "expected consecutive ones"),
        ("papers: [mino]", "did you mean 'mini'"),
    ):
        (copy / "config" / "config.yaml").write_text(f"scale: smoke\n{text}\n")
        done = checkout.run(copy, "snakemake", "--cores", "1", "-n")
        assert done.returncode == 1 and said in done.stdout + done.stderr, done.stderr


IMPORTER = """
rule mine:
    output:
        "mine.txt",
    shell:
        "echo mine > {output}"


module noregret:
    snakefile:
        "PLACE/workflow/Snakefile"
    config:
        {"scale": "smoke", "papers": ["mini"]}
    prefix:
        "nr"


use rule * from noregret as noregret_*
"""


@pytest.mark.slow
def test_another_workflow_imports_this_one_under_a_prefix_and_keeps_its_own_target(copy, tmp_path):
    place = tmp_path / "importer"
    (place / "nr").mkdir(parents=True)
    (place / "Snakefile").write_text(IMPORTER.replace("PLACE", str(copy)))
    (place / "data").symlink_to(copy / "data")
    (place / "nr" / "data").mkdir()
    (place / "nr" / "data" / "manifest.yaml").symlink_to(copy / "data" / "manifest.yaml")
    environment = {**checkout.offline(copy), "NOREGRET_SUBSTITUTES": "preferred"}

    def run(*arguments):
        command = [sys.executable, "-m", "snakemake", "--cores", "2", *arguments]
        return subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True)

    assert (
        run().returncode == 0 and (place / "mine.txt").exists() and not list(place.rglob("*.png"))
    )
    made = run("nr/figures/smoke/mini/regret.png")
    assert made.returncode == 0, made.stderr
    assert (place / "nr" / "figures" / "smoke" / "mini" / "regret.png").exists()
    assert traces(place / "nr" / "results" / "smoke") == traces(copy / "results" / "smoke")
