"""The RO-Crate of a deposit: all files described, its profile kept, the same bytes again."""

import hashlib
import shutil
from datetime import datetime
from urllib.parse import unquote

import pytest
from rocrate.rocrate import ROCrate

from tests.workflow import checkout
from tests.workflow.repository import Repository
from workflow.operate import crate
from workflow.plan.citations import bibliography, cited
from workflow.plan.resolve import ROOT, papers
from workflow.trace import curve_file

PUBLISHED = ROOT / "figures/reference/records/paper/bkb/abalone/uniform.parquet"
RECORDS = "figures/reference/records/paper/mini/abalone/uniform.parquet"
AT_SIGN = "figures/reference/records/paper/mini/abalone/BKB@wide mode.parquet"
BESIDE = """
paper: {key: beside}
borrows: {mini: {problems: [abalone], curves: [uniform]}}
scales: {smoke: {}, paper: {}}
seeds: 2
algorithms: {other: {is: random_search.RandomSearch}}
runs: [{}]
"""
BESIDE_IT = "figures/reference/records/paper/beside/abalone/other.parquet"
BIB = """@inproceedings{mini,
  author    = {M{\\"u}ller, Ann and P{\\'o}czos, B.},
  title     = {A {T}iny Paper},
  booktitle = {Nowhere},
  year      = {2020}
}
"""


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """Records in the second commit, which the first one made, and a report in the third."""
    made = Repository(tmp_path_factory.mktemp("deposit"))
    for name in [*map(str, crate.ALSO), "pyproject.toml"]:
        (made.root / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, made.root / name)
    (made.root / "papers" / "references.bib").write_text(BIB)
    made.commit(yaml=checkout.MINI)
    first = made.git("rev-parse", "HEAD")
    path = made.root / RECORDS
    path.parent.mkdir(parents=True)
    shutil.copy(PUBLISHED, path)
    headers = curve_file.headers(path)
    labels = {"paper": "mini", "problem": "abalone", "algorithm": "uniform"}
    said = {
        seed: {"provenance": {**header["provenance"], "commit": first}}
        for seed, header in headers.items()
    }
    curve_file.amend(path, labels, said)
    shutil.copy(path, made.root / AT_SIGN)
    (made.root / "papers" / "beside.yaml").write_text(BESIDE)
    (made.root / BESIDE_IT).parent.mkdir(parents=True)
    shutil.copy(path, made.root / BESIDE_IT)
    made.commit()
    made.commit(verdicts={"claims": []})
    return made


@pytest.fixture(scope="module")
def folder(repository, tmp_path_factory):
    place = tmp_path_factory.mktemp("out") / "crate"
    assert crate.main(["--root", str(repository.root), "-o", str(place)]) == 0
    return place


@pytest.fixture
def read(folder):
    return ROCrate(folder)


def test_every_file_is_described_as_it_is(read, folder):
    described = {unquote(file.id): file for file in read.data_entities}
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert described.keys() == there - {crate.METADATA}
    assert {RECORDS, AT_SIGN, BESIDE_IT, "LICENSE", "papers/mini.yaml"} <= described.keys()
    for name, file in described.items():
        content = (folder / name).read_bytes()
        assert file["contentSize"] == str(len(content))
        assert file["sha256"] == hashlib.sha256(content).hexdigest()
        assert file["license"].id == crate.LICENCE and file["encodingFormat"]


def test_the_crate_has_what_the_profile_asks_for(read):
    root = read.root_dataset
    assert root["conformsTo"].id == crate.PROFILE
    assert root["license"].id == crate.LICENCE and root["author"].type == "Organization"
    assert datetime.fromisoformat(root["datePublished"])
    actions = {action.id: action for action in root["mentions"]}
    assert actions.keys() == {"#runs-mini", "#report-mini", "#runs-beside"}
    assert actions["#runs-beside"].get("about") is None  # a comparison is about no paper
    for action in actions.values():
        assert action["instrument"]["softwareVersion"] and action["agent"].type == "Organization"
        assert datetime.fromisoformat(action["endTime"]).tzinfo
    runs, report = actions["#runs-mini"], actions["#report-mini"]
    # with the last commits of their files
    assert [datetime.fromisoformat(one["endTime"]).minute for one in (runs, report)] == [2, 3]
    assert {unquote(file.id) for file in runs["result"]} == {RECORDS, AT_SIGN}
    assert {"papers/mini.yaml", "#data-abalone"} == {source.id for source in runs["object"]}
    assert RECORDS in {unquote(source.id) for source in report["object"]}
    assert [file.id for file in report["result"]] == ["figures/reference/mini/verdicts.json"]


def test_the_paper_is_cited_with_its_authors(read):
    (paper,) = read.get_by_type("ScholarlyArticle")
    assert (paper["name"], paper["datePublished"]) == ("A Tiny Paper", "2020")
    assert paper["author"] == ["Ann Müller", "B. Póczos"]
    assert paper["description"] == "Müller, Ann; Póczos, B. A Tiny Paper. Nowhere, 2020."


def test_the_same_commit_gives_the_same_bytes(repository, folder, tmp_path):
    assert crate.main(["--root", str(repository.root), "-o", str(tmp_path / "again")]) == 0
    paths = [path for path in folder.rglob("*") if path.is_file()]
    assert len(paths) > 10
    for path in paths:
        assert (tmp_path / "again" / path.relative_to(folder)).read_bytes() == path.read_bytes()


def test_what_is_not_committed_or_not_ours_is_refused(repository, tmp_path, capsys):
    place = tmp_path / "mine"
    place.mkdir()
    (place / "letter.txt").write_text("keep me")
    assert crate.main(["--root", str(repository.root), "-o", str(place)]) == 1
    assert (place / "letter.txt").exists() and "found others" in capsys.readouterr().err
    shutil.copytree(repository.root, tmp_path / "copy")
    (tmp_path / "copy" / "figures/reference/mini/verdicts.json").write_text("{}")
    assert crate.main(["--root", str(tmp_path / "copy"), "-o", str(tmp_path / "out")]) == 1
    assert "expected committed files" in capsys.readouterr().err
    shutil.rmtree(tmp_path / "copy" / ".git")
    assert crate.main(["--root", str(tmp_path / "copy"), "-o", str(tmp_path / "out")]) == 1
    assert "with its history" in capsys.readouterr().err


def test_all_that_is_here_can_be_deposited():
    """What a crate of this repository names is there, and has a format."""
    assert all((ROOT / path).is_file() for path in crate.ALSO)
    shown = [path for path in (ROOT / crate.REPORTS).rglob("*") if path.is_file()]
    assert {path.suffix for path in shown} <= set(crate.FORMATS)
    known = cited(ROOT, papers(ROOT))
    assert set(known) == set(papers(ROOT))
    assert all(paper.authors and paper.title and paper.venue for paper in known.values())


def test_the_whole_bibliography_is_read():
    text = (ROOT / "papers" / "references.bib").read_text(encoding="utf-8")
    found = bibliography(text)
    assert len(found) == text.count("\n@") + text.startswith("@") > 40
    assert not any(sign in str(paper) for paper in found.values() for sign in "{}\\")
    assert found["demsar2006comparisons"].authors == (("Demšar", "Janez"),)
    assert found["chuang2013cmass"].title.endswith("on Constraining Dark Energy")
