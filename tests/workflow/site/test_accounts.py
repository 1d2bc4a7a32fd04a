"""The page `Runs`: its numbers are those of the records."""

from __future__ import annotations

import re
from collections import defaultdict

import numpy as np
import pandas as pd
import pytest

from tests.workflow.site import made_up
from workflow.judge.record_table import COLUMNS
from workflow.plan.resolve import ROOT
from workflow.site.accounts import accounts, summed
from workflow.site.build import build, hours
from workflow.site.folder import Report, reports
from workflow.trace import curve_file, record
from workflow.trace.curve_file import Kept


def records(problem, curve, traces, seconds, paths=("X",), version="2.0", commit="c1", late=()):
    """A line for each record of a run; `late` timed out."""
    return [
        {
            "problem": problem,
            "curve": curve,
            "seed": seed,
            "names": curve,
            "status": "timeout" if seed in late else "complete",
            "trace_sha256": trace,
            "cpu_seconds": seconds,
            "peak_mib": 1,
            "data": "real",
            "commit": commit,
            "machine": "M",
            "code_path": paths[seed % len(paths)],
            "libraries": f"numpy {version}",
        }
        for seed, trace in enumerate(traces)
    ]


def published(root, place, seeds):
    """A file of published records: {seed: (trace, CPU seconds, more of its header)}."""
    kept = {}
    for seed, (trace, seconds, more) in seeds.items():
        header = {"rows": 1, "seed": seed, "digest": "d", "trace_sha256": trace}
        header |= {"cpu_seconds": seconds, **more}
        kept[seed] = curve_file.sealed(Kept(header, {"true": np.array([0.5])}))
    path = root / "figures/reference/records/paper" / place
    path.parent.mkdir(parents=True, exist_ok=True)
    curve_file.write(path, {"paper": "bkb"}, kept)


@pytest.fixture
def found(tmp_path):
    """The account of a report of three run-sets, beside published records."""
    lines = [
        *records("p", "A", ["a0", "a1"], 900.0),
        *records("p", "B", ["b0", "b1"], 0.0, version="2.1", late=[1]),
        *records("p@raw", "A", ["r0", "r1"], 450.0, paths=("X", "Y"), commit="c2"),
        *records("studies", "S", ["s0"], 3600.0),
    ]
    published(
        tmp_path,
        "bkb/p/A.parquet",
        {
            0: ("a0", 100.0, {"carried": [{"from": "d0"}]}),
            1: ("other", 360.0, {"other_code": {"first": 1}}),
            2: ("a2", 1440.0, {}),
        },
    )
    published(tmp_path, "bkb/studies/S.parquet", {0: ("s0", 5.0, {})})
    published(tmp_path, "bkb/q/C.parquet", {0: ("c0", 7200.0, {})})
    published(tmp_path, "today/p/A.parquet", {0: ("t0", 3600.0, {})})
    table = pd.DataFrame(lines).reindex(columns=COLUMNS).fillna({"algorithm": "", "rerun": ""})
    report = Report("bkb", tmp_path, {"paper": {"label": "BKB"}}, {"scale": "paper"}, table)
    (tmp_path / "papers").symlink_to(ROOT / "papers")
    (tmp_path / "algorithms").symlink_to(ROOT / "algorithms")
    (tmp_path / "problems").symlink_to(ROOT / "problems")
    return report, tmp_path


def test_run_sets_are_counted_from_the_list_of_runs(found):
    report, root = found
    (account,) = accounts([report], root, others=False)
    assert [(line.problem, line.page, line.seeds) for line in account.lines] == [
        ("p", "bkb/runs-p.html", "1 to 2"),
        ("p@raw", "bkb/runs-p@raw.html", "2"),
        ("studies", "bkb/studies.html", "1"),
    ]
    first = account.lines[0].total
    assert (first.curves, first.records, first.seconds, first.timeouts) == (2, 3, 1800.0, 1)
    assert account.total.records == 6 and account.total.hours == pytest.approx(1.75)
    assert account.lines[1].code_paths == ["X", "Y"]
    assert account.seeds == "1 to 2"
    assert account.mixed["commits"] == ["c1", "c2"]
    assert account.mixed["libraries"] == ["numpy 2.0", "numpy 2.1"]


def test_published_records_count_by_their_traces(found):
    report, root = found
    (account,) = accounts([report], root, others=False)
    total = account.lines[0].total
    assert (total.published, total.carried, total.other_code) == (1, 1, 1)
    (file,) = account.lines[0].files
    assert file.path == "figures/reference/records/paper/bkb/p/A.parquet"
    assert (file.records, file.alone) == (3, 2)
    assert account.lines[2].total.published == 1
    assert [file.path.rpartition("paper/")[2] for file in account.others] == ["bkb/q/C.parquet"]
    assert account.alone == 3 and account.hours_alone == pytest.approx((360 + 1440 + 7200) / 3600)


def test_what_has_no_report_stands_apart(found):
    report, root = found
    _, other = accounts([report], root, others=True)
    assert (other.name, other.label, other.alone, other.hours_alone) == ("today", "Today", 1, 1.0)
    assert other.total == summed([]) and other.total.records == 0


def test_a_damaged_file_is_none(found):
    report, root = found
    (root / "figures/reference/records/paper/bkb/p/A.parquet").write_bytes(b"PAR1")
    (account,) = accounts([report], root, others=False)
    assert account.lines[0].total.published == 0 and account.lines[0].files[0].records == 0


def row(page: str, name: str) -> dict[str, str]:
    """The cells of the row of the first table that begins with a name."""
    table = page.partition("<table")[2].partition("</table>")[0]
    line = next(each for each in table.split("<tr>") if f">{name}<" in each)
    return dict(re.findall(r'data-label="([^"]*)"[^>]*>([^<]*)<', line))


def test_the_page_says_what_the_records_say(tmp_path):
    """Counted again from the records themselves, which no list stands between."""
    source = made_up.report(tmp_path / "report")
    build(source, tmp_path / "site")
    page = (tmp_path / "site/runs.html").read_text()
    headers = defaultdict(list)
    for path in (tmp_path / "report").glob("results/**/*.parquet"):
        found = record.read(path).header
        headers[path.parent.parent.name].append(float(found["cpu_seconds"]))
    seconds = sum(map(sum, headers.values()))
    cells = row(page, "DuMBO")
    assert int(cells["records"]) == sum(map(len, headers.values())) > 50
    assert cells["core-hours"] == hours(seconds / 3600) != "0.00"
    sets = page.partition('<h2 id="dumbo">')[2]
    for problem, each in headers.items():
        line = row(sets, problem)
        assert int(line["records"]) == len(each) and line["seeds"] == "5", problem
        assert line["core-hours"] == hours(sum(each) / 3600).replace("<", "&lt;")
        assert line["code path of the CPU"] in ("not named", "unnamed code path")
    assert "numpy 2.0; python 3.11.7; scipy 1.15" in sets
    assert "Linux, two cores" in sets
    assert "<code>c0ffee</code>" in sets


def test_the_committed_reports_add_up(reference_site):
    found = accounts(reports(ROOT / "figures/reference"), ROOT, others=True)
    total = summed(account.total for account in found)
    page = (reference_site / "runs.html").read_text()
    assert row(page, "all")["records"] == str(total.records)
    assert row(page, "all")["core-hours"] == hours(total.seconds / 3600)
    files = {path.relative_to(ROOT).as_posix() for path in ROOT.glob(RECORDS)}
    assert set(re.findall(r"<code>(figures/[^<]*\.parquet)</code>", page)) == files and files


RECORDS = "figures/reference/records/paper/**/*.parquet"


def test_hours_lead_from_the_first_page_to_the_runs(made_up_site):
    page = (made_up_site / "index.html").read_text()
    assert re.search(r'<a href="runs\.html#dumbo">\d+ \w+</a>', page)
    assert 'href="runs.html">Runs and their cost</a>' in page


def test_core_hours_for_people():
    for value, words in [(0.0, "0.00"), (0.0004, "< 0.01"), (0.005, "0.01"), (12.345, "12.35")]:
        assert hours(value) == words
