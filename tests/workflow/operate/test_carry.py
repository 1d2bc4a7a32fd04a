"""When code changes: groups whose samples have the same traces get the new digest and an audit;
nothing else is written, and reports tell the others.
"""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.workflow import checkout, synthetic
from workflow.draw import plots, tabulate
from workflow.judge import ledger
from workflow.measure.store import BadRecords
from workflow.operate import carry, publish, verify
from workflow.trace import curve_file, record
from workflow.trace.curves import with_data

COMMIT = "c0ffee" * 6


def climbing(seed):
    return {"true": np.linspace(0.1, 0.9, 8) - 0.01 * seed}


class Changing(synthetic.Toy):
    """A toy paper with published records, whose code can be changed; runs are made again by reading
    what was recorded, and those named in `differing` otherwise.
    """

    def __init__(self, root):
        super().__init__(root, seeds=5, budget=8)
        self.differing, self.run = set(), []
        self.here = record.provenance()
        self.made = {**self.here, "commit": COMMIT}
        for name, reading in (("A", ""), ("B", "code")):
            curve = self.add(name, climbing, reading=reading)
            for seed in curve.seeds:
                self.publish(curve, seed)
        columns = {"t": np.arange(3), "u": np.ones(3)}
        study = self.study("lemma", lambda seed: {**columns, "t": np.arange(3) + seed}, seeds=2)
        for seed in study.seeds:
            said = {"data_sha256": synthetic.SHA, "provenance": self.made, "cpu_seconds": 1.0}
            synthetic.rewrite(study.record(seed), **said)
        publish.publish(self.paper, root / "results", root)

    def publish(self, curve, seed, **header):
        said = {"data_sha256": synthetic.SHA, "provenance": self.made, "cpu_seconds": 10.0 * seed}
        self.write(curve, seed, climbing(seed), **{**said, **header})

    def change(self, text):
        """All digests are others from now on."""
        for known in (self.curves, self.studies):
            for name, part in known.items():
                digest = part.digest.partition(" ")[0]
                known[name] = replace(part, digest=f"{digest} {text}".rstrip())

    def rerun(self, candidate, folder):
        self.run.append(f"{candidate.path.parent.name}/{candidate.path.stem}")
        found = record.read(self.root / candidate.path)
        (part,) = [one for one in self.paper.every_curve if one.folder == candidate.path.parent]
        columns = dict(found.columns)
        if self.run[-1] in self.differing:
            name = "y" if "y" in columns else "t"
            columns[name] = np.nextafter(columns[name], 9)
        path = folder / "again.parquet"
        digest = with_data(part.digest, synthetic.SHA)
        header = {**found.header, "digest": digest, "provenance": self.here}
        record.write(path, header, columns)
        return record.read(path)

    def headers(self, run):
        return curve_file.headers(self.root / run.published)

    @property
    def contents(self):
        return {path: path.read_bytes() for path in (self.root / "figures").rglob("*.parquet")}


@pytest.fixture
def toy(tmp_path, monkeypatch, plan_of):
    monkeypatch.chdir(tmp_path)
    made = Changing(tmp_path)
    plan_of(made)
    monkeypatch.setattr(carry, "chosen_papers", lambda names: names.split(","))
    monkeypatch.setattr(verify, "rerun", made.rerun)
    return made


def test_equal_traces_carry_the_whole_group_and_a_second_call_does_nothing(toy):
    before = {run.name: toy.headers(run) for run in toy.paper.every_curve}
    kept = {run.name: curve_file.read(toy.root / run.published) for run in toy.paper.every_curve}
    toy.change("faster")
    assert carry.main(["--cores", "2"]) == 0
    assert len(toy.run) == 8  # three of five of each curve, both of the study
    for run in toy.paper.every_curve:
        found = curve_file.read(toy.root / run.published)  # its seals hold
        checked = sorted(
            f"{run.name.partition('/')[2]}/{name.split('/')[1]}"
            for name in toy.run
            if name.split("/")[0] == run.folder.name
        )
        for seed, header in toy.headers(run).items():
            old = dict(before[run.name][seed])
            audit = {"from": old["digest"], "commit": COMMIT, "checked": checked}
            fields = {"digest": with_data(run.digest, synthetic.SHA), "carried": [audit]}
            fields["published_sha256"] = header["published_sha256"]
            assert header == {**old, **fields}
            assert header["published_sha256"] != old["published_sha256"]
            one, other = kept[run.name][seed], found[seed]
            np.testing.assert_equal(other.columns, one.columns)
            assert one.some.keys() == other.some.keys()
        assert toy.store(fresh=False).seeds(run) == run.seeds or "lemma" in run.name
    content, toy.run = toy.contents, []
    assert carry.main([]) == carry.main(["--check"]) == 0
    assert toy.run == [] and toy.contents == content


def test_what_was_compared_beforehand_is_carried_without_a_run(toy, capsys):
    toy.change("faster")
    before = toy.contents
    assert carry.main(["--check"]) == 1
    assert "published records are of other code than today's, such as" in capsys.readouterr().err
    assert carry.main(["--equal", "hashes of 20 runs agree", "--dry-run"]) == 0
    assert toy.contents == before
    assert carry.main(["--equal", "hashes of 20 runs agree"]) == 0
    assert toy.run == [] and "hashes of 20 runs agree" in capsys.readouterr().out
    for run in toy.paper.every_curve:
        for header in toy.headers(run).values():
            (audit,) = header["carried"]
            assert (audit["checked"], audit["because"]) == ([], "hashes of 20 runs agree")
            assert header["digest"] == with_data(run.digest, synthetic.SHA)


def test_the_same_seed_draws_the_same_and_writes_the_same_bytes(toy):
    toy.change("faster")
    shutil.copytree("figures", "kept")
    content = []
    for cores in ("1", "3"):
        assert carry.main(["--seed", "7", "--cores", cores]) == 0
        content.append(toy.contents)
        shutil.rmtree("figures")
        shutil.copytree("kept", "figures")
    assert content[0] == content[1]
    found = carry.survey(Path())
    drawn = {
        tuple(one.name for group in carry.groups(found.stale, seed=seed) for one in group.drawn)
        for seed in range(9)
    }
    assert len(drawn) > 3


def test_one_different_trace_leaves_its_group_alone_and_reports_refuse_it(toy, capsys):
    toy.change("another rule")
    toy.differing = {f"B@code/{seed}" for seed in range(3)}  # of three drawn of five one at least
    curve = toy.curves["p", "B@code"]
    before = toy.contents[toy.root / curve.published]
    assert carry.main([]) == 1
    told = capsys.readouterr()
    (said,) = [line for line in told.out.splitlines() if line.startswith("of other code")]
    assert "5 of toy paper random_search.RandomSearch@code" in said
    assert "queries or observed values differ" in said and "p/B@code/" in said
    assert "5 records are of other code than today's" in told.err and "--replace" in told.err
    assert all("carried" in each for each in toy.headers(toy.curves["p", "A"]).values())
    assert toy.contents[toy.root / curve.published] == before
    shutil.rmtree("results")
    with pytest.raises(BadRecords, match="it was made by others; `make carry` tells whether"):
        toy.store().seeds(curve)
    store = toy.store(partial=True)
    assert store.seeds(curve) == store.made_by_other_code(curve) == (0, 1, 2, 3, 4)
    assert store.made_by_other_code(toy.curves["p", "A"]) == ()


def test_partial_reports_tell_what_other_code_made(toy, monkeypatch):
    check = {"test": "less", "metric": "cumulative_regret", "problems": ["p"]}
    named = {"curves": ["A", "B@code"], "title": "T"}
    said = {"where": "Fig. 1", "says": "it has little regret"}
    toy.entry["claims"] = [
        {"id": left[0], **said, "check": {**check, "left": [left], "right": 9.0}}
        for left in ("A", "B@code")
    ]
    figure = {"id": "f", "metric": "simple_regret", **named, "panels": [{"problem": "p"}]}
    toy.entry["figures"] = [figure]
    of_study = {"kind": "study", "study": "lemma", "by": ["t"], "columns": ["u"]}
    ends = {"kind": "diagnostics", "problems": ["p"], **named}
    toy.entry["tables"] = [{"id": "t", **ends}, {"id": "s", **of_study}]
    toy.change("another rule")
    toy.differing = {f"A/{seed}" for seed in range(5)}
    assert carry.main([]) == 1
    shutil.rmtree("results")
    noted = []
    monkeypatch.setattr(plots, "wrapped", lambda text, width, *size: noted.append(text) or [text])
    ledger.write(toy.store(partial=True), Path("report"))
    for make, name in ((plots.draw, "f"), (tabulate.draw, "t"), (tabulate.draw, "s")):
        make(toy.paper, toy.store(partial=True), name, Path("report"))
    told = "5 of 5 records of p/A"
    claims = json.loads(Path("report/verdicts.json").read_text())
    of_a, of_b = (claim["qualifiers"] for claim in claims["claims"])
    assert of_a == [f"on records of other code: {told}"] and of_b == []
    whole = "5 of 10 records here were made by other code, parameters or data than today's"
    assert whole in claims["mixed"][0] and whole in Path("report/verdicts.md").read_text()
    assert [f"MADE BY OTHER CODE: {told}" in note for note in noted].count(True) == 1
    assert f"Made by other code than today's: {told}." in Path("report/t.md").read_text()
    assert "other code" not in Path("report/s.md").read_text()


def test_a_dry_run_tells_what_it_would_make_and_writes_nothing(toy, capsys):
    toy.change("faster")
    before = toy.contents
    assert carry.main(["-n"]) == 0
    said = capsys.readouterr().out
    assert toy.run == [] and toy.contents == before
    assert "5 of toy paper random_search.RandomSearch at tables.abalone, made by c0ffee" in said
    assert "12 records of other code in 3 groups; 8 are made again, chosen by seed 1" in said


def test_what_cannot_be_decided_stays_as_it_is(toy, capsys, monkeypatch):
    toy.change("another rule")
    toy.here = {**toy.here, "libraries": {**toy.here["libraries"], "numpy": "0"}}
    toy.differing = {f"A/{seed}" for seed in range(5)}  # which another version may explain
    before = toy.contents[toy.root / toy.curves["p", "A"].published]
    assert carry.main([]) == 1
    said = capsys.readouterr()
    assert "undecided: 5 of toy paper" in said.out and "p/A/" in said.out
    assert "5 records are of other code than today's, or may be" in said.err
    assert toy.contents[toy.root / toy.curves["p", "A"].published] == before

    def fails(candidate, folder):
        raise ChildProcessError("no such data")

    monkeypatch.setattr(verify, "rerun", fails)
    assert carry.main([]) == 1
    assert "failed: could not be made again: no such data" in capsys.readouterr().out
    assert toy.contents[toy.root / toy.curves["p", "A"].published] == before


def test_other_parameters_are_told_without_a_run(toy, capsys):
    curve = toy.curves["p", "A"]
    entry = {**curve.algorithm_entry, "xi": {"given": "noise"}}
    for seed, qbar in enumerate((2, 3, 2, 2, 2)):
        said = {"algorithm_parameters": {**entry, "xi": 0.1, "qbar": qbar}, "budget": 8}
        toy.publish(curve, seed, **said)
    publish.publish(toy.paper, toy.root / "results", toy.root, replace=True)
    (toy.root / curve.published).unlink()
    publish.publish(toy.paper, toy.root / "results", toy.root)
    toy.change("faster")
    toy.curves["p", "A"] = replace(toy.curves["p", "A"], algorithm_entry=entry)
    assert carry.main([]) == 1
    found = toy.headers(toy.curves["p", "A"])
    assert "1 records: parameters are others today: qbar" in capsys.readouterr().out
    assert "A/1" not in toy.run
    assert [seed for seed, header in found.items() if "carried" in header] == [0, 2, 3, 4]


def test_a_group_is_of_one_commit_one_class_and_one_kind_of_parameters(toy):
    numbers = toy.add("C", climbing, variant="b-1")
    words = toy.add("C", climbing, variant="b-2")
    others = {
        numbers: {**numbers.algorithm_entry, "qbar": 5},
        words: {**words.algorithm_entry, "beta": "code"},
    }
    for curve, entry in others.items():
        toy.curves["p", curve.label] = changed = replace(curve, algorithm_entry=entry)
        for seed in curve.seeds:
            commit = "beef" if seed == 0 else COMMIT
            toy.publish(changed, seed, provenance={**toy.made, "commit": commit})
    publish.publish(toy.paper, toy.root / "results", toy.root)
    toy.change("faster")
    found = carry.groups(carry.survey(Path()).stale, seed=1)

    def of(one):
        return one.curve.name.split("/", 1)[1], one.header["provenance"]["commit"]

    sets = {frozenset(map(of, group.records)) for group in found}
    assert sets == {
        frozenset({("p/A", COMMIT), ("p/C+b-1", COMMIT)}),
        frozenset({("p/C+b-1", "beef")}),
        frozenset({("p/C+b-2", COMMIT)}),
        frozenset({("p/C+b-2", "beef")}),
        frozenset({("p/B@code", COMMIT)}),
        frozenset({("studies/lemma", COMMIT)}),
    }
    sizes = {len(group.records): len(group.drawn) for group in found}
    assert sizes == {9: 3, 1: 1, 4: 3, 5: 3, 2: 2}
    ones = next(group.records for group in found if len(group.records) == 9)
    event = {"from": "d", "commit": COMMIT, "checked": ["p/A/1"]}
    carried = replace(ones[0], header={**ones[0].header, "carried": [event]})
    assert [len(g.records) for g in carry.groups([carried, *ones[1:]], seed=1)] == [1, 8]


def test_five_percent_of_a_large_group_are_made_again_and_no_timeout(toy):
    one = carry.survey(Path())
    assert one.current == 12 and one.stale == []
    toy.change("faster")
    first = next(each for each in carry.survey(Path()).stale if each.curve.name == "toy/p/A")
    many = [replace(first, seed=i) for i in range(81)]
    late = replace(first, header={**first.header, "status": record.TIMEOUT}, seed=81)
    (group,) = carry.groups([*many, late], seed=1)
    assert (len(group.records), len(group.drawn)) == (82, 5)
    (alone,) = carry.groups([late], seed=1)
    assert alone.drawn == () and carry.decided(alone, [])[0] == carry.OPEN


def test_the_check_names_files_and_seeds_that_no_plan_makes_and_damaged_ones(toy, capsys):
    folder = toy.root / toy.curves["p", "A"].published.parent
    shutil.copy(folder / "A.parquet", folder / "gone.parquet")
    (folder / "B@code.parquet").write_bytes(b"PAR1")
    toy.curves["p", "A"] = replace(toy.curves["p", "A"], seeds=(0, 1, 2, 3))
    assert carry.main(["--check"]) == 1
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 3
    assert "p/A.parquet: expected a seed of (0, 1, 2, 3), found 4" in said[0]
    assert "p/B@code.parquet: expected published records, found a file that cannot" in said[1]
    assert "p/gone.parquet: expected a run of the plan, found none: remove it" in said[2]
    with pytest.raises(SystemExit, match="2"):
        carry.main(["--cores", "0"])


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the repository with a published curve of two seeds, without results."""
    copy = checkout.make(tmp_path_factory.mktemp("carry"))
    for call in (
        ["workflow.fetch", "abalone", "--substitutes", "allowed"],
        ["workflow.run", "mini", "abalone", "uniform", "0-1", "--scale", "smoke"],
        ["workflow.publish", "--scale", "smoke"],
    ):
        checkout.succeed(copy, *call)
    shutil.rmtree(copy / "results")
    return copy


@pytest.mark.slow
def test_a_real_change_is_carried_if_it_changes_no_trace(copy):
    path = copy / "figures/reference/records/smoke/mini/abalone/uniform.parquet"
    source = copy / "algorithms" / "random_search.py"
    first, text = curve_file.headers(path), source.read_text()
    call = ["workflow.carry", "mini", "--scale", "smoke", "--cores", "2"]
    source.write_text(text + "\nUNUSED = 1\n")
    done = checkout.succeed(copy, *call)
    found = curve_file.headers(path)
    assert [len(header["carried"]) for header in found.values()] == [1, 1], done.stdout
    assert found[1]["carried"][0]["from"] == first[1]["digest"] != found[1]["digest"]
    other = text.replace("integers(len(self.domain)", "integers(9")
    assert other != text
    source.write_text(other)
    done = checkout.run(copy, *call)
    assert done.returncode == 1 and "from evaluation" in done.stdout
    assert curve_file.headers(path) == found and not (copy / "results").exists()
