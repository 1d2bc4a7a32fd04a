"""The RO-Crate of a deposit: every file is there and described, what the profile Process Run Crate
asks for is stated, and the same commit gives the same bytes.
"""

import copy
import hashlib
import json
import shutil
from datetime import datetime
from urllib.parse import unquote

import pytest

from tests.workflow import checkout
from tests.workflow.repository import Repository
from workflow.operate import crate
from workflow.operate.citations import bibliography, cited
from workflow.plan.resolve import ROOT, papers
from workflow.trace import curve_file

PUBLISHED = ROOT / "figures/reference/records/paper/bkb/abalone/uniform.parquet"
RECORDS = "figures/reference/records/paper/mini/abalone/uniform.parquet"
AT_SIGN = "figures/reference/records/paper/mini/abalone/BKB@wide mode.parquet"
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
    made.commit()
    made.commit(verdicts={"claims": []})
    return made


@pytest.fixture(scope="module")
def folder(repository, tmp_path_factory):
    place = tmp_path_factory.mktemp("out") / "crate"
    assert crate.main(["--root", str(repository.root), "-o", str(place)]) == 0
    return place


@pytest.fixture
def graph(folder):
    whole = json.loads((folder / crate.METADATA).read_text())
    assert whole["@context"] == "https://w3id.org/ro/crate/1.1/context"
    return whole["@graph"]


def references(value):
    """The `@id`s that an entity refers to."""
    if isinstance(value, dict):
        if value.keys() == {"@id"}:
            yield value["@id"]
        else:
            for key, inner in value.items():
                yield from references(inner) if key != "@id" else ()
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


def several(value):
    """What a property refers to, whether that is one or many."""
    return value if isinstance(value, list) else [value]


def faults(graph, folder):
    """What RO-Crate 1.1 and Process Run Crate 0.5 ask for and a crate lacks."""
    found = []
    known = {entity["@id"]: entity for entity in graph}

    def ask(what, holds):
        found.extend([] if holds else [what])

    def has(entity, *names):
        for name in names:
            ask(f"{entity['@id']}: {name}", entity.get(name))

    ask("unique names", len(known) == len(graph))
    head, root = known["ro-crate-metadata.json"], known["./"]
    ask("descriptor", head["@type"] == "CreativeWork" and head["about"] == {"@id": "./"})
    ask("RO-Crate", head["conformsTo"] == {"@id": "https://w3id.org/ro/crate/1.1"})
    has(root, "name", "description", "datePublished", "license", "author", "hasPart")
    ask("root", root["@type"] == "Dataset" and datetime.fromisoformat(root["datePublished"]))
    profile = known.get(root["conformsTo"]["@id"], {})
    ask("profile", profile.get("@id") == "https://w3id.org/ro/wfrun/process/0.5")
    ask("profile's type", profile.get("@type") == "CreativeWork" and profile.get("version"))
    files = {entity["@id"]: entity for entity in graph if entity["@type"] == "File"}
    ask("parts", {part["@id"] for part in root["hasPart"]} == set(files))
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    ask("files", {unquote(name) for name in files} == there - {"ro-crate-metadata.json"})
    for name, file in files.items():
        has(file, "name", "description", "encodingFormat", "license")
        path = folder / unquote(name)
        content = path.read_bytes() if path.exists() else b""
        ask(f"{name}: bytes", file["contentSize"] == str(len(content)))
        ask(f"{name}: hash", file["sha256"] == hashlib.sha256(content).hexdigest())
    for entity in graph:
        lists = [key for key, value in entity.items() if isinstance(value, list)]
        ask(f"{entity['@id']}: single", all(len(entity[key]) > 1 for key in lists))
        for name in references(entity):
            outside = entity is head and name == "https://w3id.org/ro/crate/1.1"
            ask(f"{entity['@id']}: refers to {name}", name in known or outside)
    for action in [entity for entity in graph if entity["@type"] == "CreateAction"]:
        has(action, "name", "description", "endTime", "instrument", "agent", "object", "result")
        ask(f"{action['@id']}: mentioned", {"@id": action["@id"]} in several(root["mentions"]))
        tool = known.get(action.get("instrument", {}).get("@id"), {})
        ask(f"{action['@id']}: tool", tool.get("@type") == "SoftwareApplication")
        ask("tool", tool.get("name") and tool.get("softwareVersion") and "version" not in tool)
        ask("agent", known[action["agent"]["@id"]]["@type"] in ("Organization", "Person"))
        ask("results", all(one["@id"] in files for one in several(action.get("result", []))))
        times = [
            datetime.fromisoformat(action[key]) for key in ("startTime", "endTime") if key in action
        ]
        ask("times", times == sorted(times) and all(time.tzinfo for time in times))
    return found


def test_a_crate_has_what_the_profile_asks_for(graph, folder):
    assert faults(graph, folder) == []


@pytest.mark.parametrize(
    ("name", "key", "value", "fault"),
    [
        ("./", "license", None, "./: license"),
        ("./", "mentions", [], "#runs-mini: mentioned"),
        ("./", "conformsTo", {"@id": "#other"}, "profile"),
        ("#runs-mini", "instrument", {"@id": "#other"}, "#runs-mini: tool"),
        ("#runs-mini", "startTime", "2027-01-01T00:00:00+00:00", "times"),
        ("#noregret", "softwareVersion", None, "tool"),
        ("LICENSE", "sha256", "0", "LICENSE: hash"),
        ("LICENSE", "@id", "LICENCE", "files"),
        ("LICENSE", "license", [{"@id": "https://spdx.org/licenses/MIT"}], "LICENSE: single"),
    ],
)
def test_a_fault_is_found(graph, folder, name, key, value, fault):
    spoilt = copy.deepcopy(graph)
    (entity,) = [each for each in spoilt if each["@id"] == name]
    entity[key] = value
    assert fault in faults(spoilt, folder)


def test_the_library_reads_it_back(graph, folder):
    from rocrate.rocrate import ROCrate

    read = ROCrate(folder)
    assert read.root_dataset["conformsTo"].id == "https://w3id.org/ro/wfrun/process/0.5"
    assert {entity.id for entity in read.get_entities()} == {entity["@id"] for entity in graph}
    files = [entity for entity in read.data_entities if entity.type == "File"]
    assert len(files) == len([entity for entity in graph if entity["@type"] == "File"])
    assert all((folder / unquote(file.id)).is_file() for file in files)
    (runs,) = [one for one in read.root_dataset["mentions"] if one.id == "#runs-mini"]
    assert runs["instrument"]["softwareVersion"] and runs["agent"].type == "Organization"
    assert {unquote(one.id) for one in runs["result"]} == {RECORDS, AT_SIGN}


def test_actions_begin_and_end_with_the_commits_of_their_records(graph):
    actions = {each["@id"]: each for each in graph if each["@type"] == "CreateAction"}
    runs, report = actions["#runs-mini"], actions["#report-mini"]
    assert runs["startTime"] == "2026-01-01T00:01:00+00:00"
    assert runs["endTime"] == "2026-01-01T00:02:00+00:00"
    assert report["endTime"] == "2026-01-01T00:03:00+00:00" and "startTime" not in report
    assert {"@id": "papers/mini.yaml"} in runs["object"]
    assert {"@id": "#data-abalone"} in runs["object"]
    assert {"@id": RECORDS} in several(
        report["object"]
    )  # which was there when the report was drawn
    assert report["result"] == {"@id": "figures/reference/mini/verdicts.json"}


def test_the_paper_is_cited_with_its_authors(graph):
    (paper,) = [each for each in graph if each["@type"] == "ScholarlyArticle"]
    assert (paper["name"], paper["datePublished"]) == ("A Tiny Paper", "2020")
    assert paper["author"] == ["Ann Müller", "B. Póczos"]
    assert paper["description"] == "Müller, Ann; Póczos, B. A Tiny Paper. Nowhere, 2020."


def test_the_same_commit_gives_the_same_bytes(repository, folder, tmp_path):
    assert crate.main(["--root", str(repository.root), "-o", str(tmp_path / "again")]) == 0
    paths = [path for path in folder.rglob("*") if path.is_file()]
    assert len(paths) > 10
    for path in paths:
        assert (tmp_path / "again" / path.relative_to(folder)).read_bytes() == path.read_bytes()


def test_a_later_record_is_no_source_of_an_earlier_report(repository, tmp_path):
    other = Repository.__new__(Repository)
    other.root, other.minute = tmp_path / "later", 9
    shutil.copytree(repository.root, other.root)
    shutil.copy(other.root / RECORDS, other.root / RECORDS.replace("uniform", "later"))
    other.commit()
    made = json.loads(crate.made(other.root).text())["@graph"]
    (report,) = [each for each in made if each["@id"] == "#report-mini"]
    assert {"@id": RECORDS} in report["object"]
    assert {"@id": RECORDS.replace("uniform", "later")} not in report["object"]


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
