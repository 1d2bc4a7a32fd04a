"""An archive holds every finished record and nothing else, has the same bytes for the same records,
and is trusted in nothing.
"""

import errno
import json
import os
import re
import stat
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.workflow import synthetic
from workflow.operate import archive
from workflow.operate.archive import BadArchive
from workflow.trace import record

PLACE = "results/paper/toy/p/A/0.parquet"
with tempfile.TemporaryDirectory() as _folder:
    record.write(Path(_folder, "a"), {"seed": 0, "digest": "d"}, {"y": np.zeros(2)})
    WHOLE = Path(_folder, "a").read_bytes()
VALUE = WHOLE.index(bytes(8)) + 2  # within the zeros of the column, at its beginning


def results(root):
    """Three cells and a study of two seeds each, and all that may lie beside
    records.
    """
    toy = synthetic.Toy(root, seeds=2, budget=8)
    for name, options in (
        ("A", {}),
        ("B", {"reading": "code", "variant": "b-1"}),
        ("C", {"problem": "open"}),
    ):
        toy.add(name, synthetic.noisy(0.5), **options)
    toy.study("lemma", lambda seed: {"t": np.arange(3)})
    folder = root / "results" / "paper" / "toy" / "p"
    made = toy.paper.cells[0]
    toy.write(made, 1, {"true": 0.25})
    toy.write(made, 2, {"true": 0.5}, status="cutoff")
    for name in (
        "0.checkpoint",
        "0.parquet.1a2b3c4d",
        ".0.parquet.x.part",
        "notes.parquet",
        "0.log",
    ):
        (folder / "A" / name).write_text("not a record")
    return root


@pytest.fixture
def root(tmp_path):
    return results(tmp_path / "checkout")


@pytest.fixture
def made(root, tmp_path):
    target = tmp_path / "made.zip"
    archive.write(target, root=root)
    return target


def forged(path, members):
    """An archive of (name or ZipInfo, content)."""
    with zipfile.ZipFile(path, "w") as target:
        for info, content in members:
            target.writestr(info, content)
    return path


def test_every_finished_record_is_in_it_and_comes_back_as_it_was(root, made, tmp_path):
    unpacked = archive.unpack(made, tmp_path / "out")
    names = [
        f"results/paper/toy/{name}"
        for name in (
            "open/C/0.parquet",
            "open/C/1.parquet",
            "p/A/0.parquet",
            "p/A/1.parquet",
            "p/B@code+b-1/0.parquet",
            "p/B@code+b-1/1.parquet",
            "studies/lemma/0.parquet",
            "studies/lemma/1.parquet",
        )
    ]
    assert unpacked == names
    assert [
        path.relative_to(tmp_path / "out").as_posix()
        for path in sorted((tmp_path / "out").rglob("*.*"))
        if path.is_file()
    ] == names
    for name in names:
        assert (tmp_path / "out" / name).read_bytes() == (root / name).read_bytes()


def test_equal_records_give_equal_bytes_wherever_and_whenever(root, made, tmp_path):
    other = results(tmp_path / "elsewhere")
    for path in other.rglob("*.parquet"):
        os.utime(path, (1e9, 1e9))
        path.chmod(0o600)
    archive.write(tmp_path / "other.zip", root=other)
    assert (tmp_path / "other.zip").read_bytes() == made.read_bytes()
    synthetic.Toy(other, seeds=2, budget=8).add("A", synthetic.noisy(0.4))
    archive.write(tmp_path / "other.zip", root=other)
    assert (tmp_path / "other.zip").read_bytes() != made.read_bytes()


def test_scale_and_papers_choose(root, monkeypatch, capsys):
    other = root / "results" / "smoke" / "bkb" / "p" / "A" / "0.parquet"
    record.write(other, {"seed": 0}, {"y": np.zeros(2)})
    assert len(archive.record_paths(root)) == len(archive.record_paths(root, scale="paper")) + 1
    monkeypatch.chdir(root)
    assert archive.main(["--papers", "bkb"]) == 0
    with zipfile.ZipFile("noregret-all.zip") as made:
        assert made.namelist() == [other.relative_to(root).as_posix()]
    assert archive.main(["--scale", "paper"]) == 0
    assert "wrote noregret-paper.zip: 8 records" in capsys.readouterr().err
    for arguments, message in (
        (["--papers", "toy"], "unknown paper 'toy'"),
        (["--scale", "huge"], "got none: run the workflow"),
    ):
        assert archive.main(arguments) == 1
        assert message in capsys.readouterr().err


def test_a_damaged_record_is_refused_by_name_and_the_last_archive_stays(root, made):
    before = made.read_bytes()
    (root / PLACE).write_bytes((root / PLACE).read_bytes()[:-9])
    with pytest.raises(
        BadArchive,
        match=r"1 records are damaged, nothing was written:\n.*A/0\.parquet: expected a record",
    ):
        archive.write(made, root=root)
    assert made.read_bytes() == before
    assert [path.name for path in made.parent.iterdir() if path.is_file()] == ["made.zip"]


def link(name):
    info = zipfile.ZipInfo(name)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


def deflated(name):
    info = zipfile.ZipInfo(name)
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([("../results/paper/toy/p/A/0.parquet", b"x")], "got the name '../results"),
        ([("/results/paper/toy/p/A/0.parquet", b"x")], "got the name '/results"),
        (
            [("results/../toy/p/A/0.parquet", b"x")],
            "expected results/SCALE/PAPER/PROBLEM/CURVE/SEED.parquet",
        ),
        ([("results/paper/toy/p/A/../../0.parquet", b"x")], "expected results/SCALE"),
        ([("results\\paper\\toy\\p\\A\\0.parquet", b"x")], "expected results/SCALE"),
        ([("results/paper/toy/p/.git/0.parquet", b"x")], "expected results/SCALE"),
        ([("results/C:/toy/p/A/0.parquet", b"x")], "expected results/SCALE"),
        ([("results/paper/toy/p/A/0.sh", b"x")], "expected results/SCALE"),
        ([("results/paper/toy/p/A/0.parquet/", b"")], "expected results/SCALE"),
        ([(link(PLACE), b"/etc/passwd")], "expected a plain file, got a link"),
        ([(deflated(PLACE), b"0" * 10**6)], "got a compressed or encrypted one"),
    ],
)
def test_what_could_lead_elsewhere_is_refused(tmp_path, members, message):
    good = ("results/paper/toy/p/A/9.parquet", WHOLE)
    source = forged(tmp_path / "forged.zip", [good, *members])
    with pytest.raises(BadArchive) as refused:
        archive.unpack(source, tmp_path / "deep" / "target")
    assert message in str(refused.value)
    assert "get the archive again" in str(refused.value)
    assert list(tmp_path.iterdir()) == [source]


def test_a_name_that_is_there_twice_is_refused(tmp_path):
    with pytest.warns(UserWarning, match="Duplicate name"):
        source = forged(tmp_path / "forged.zip", [(PLACE, b"x"), (PLACE, b"x")])
    with pytest.raises(BadArchive, match="expected every name once"):
        archive.unpack(source, tmp_path / "target")


def test_sizes_beyond_the_archive_itself_are_refused_before_anything_is_read(made, tmp_path):
    content = bytearray(made.read_bytes())
    entry = content.rindex(b"PK\x01\x02")
    # what the directory declares
    content[entry + 24 : entry + 28] = (0x7FFFFFFF).to_bytes(4, "little")
    made.write_bytes(content)
    with pytest.raises(
        BadArchive,
        match=rf"expected files of at most {len(content)} bytes, as the archive is no larger, got",
    ):
        archive.unpack(made, tmp_path / "target")
    assert not (tmp_path / "target").exists()


def test_a_changed_byte_a_missing_end_and_a_foreign_file_are_refused(root, made, tmp_path):
    whole, record_bytes = made.read_bytes(), (root / PLACE).read_bytes()
    at = whole.index(record_bytes) + len(record_bytes) // 2
    for content in (
        whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :],
        whole[:-30],
        b"no zip at all",
        b"",
    ):
        made.write_bytes(content)
        with pytest.raises(BadArchive, match="get the archive again"):
            archive.unpack(made, tmp_path / "target")
    with pytest.raises(BadArchive, match="No such file"):
        archive.unpack(tmp_path / "none.zip", tmp_path / "target")
    assert not (tmp_path / "target").exists()


def test_a_file_that_is_there_is_kept_and_another_one_never_replaced(root, made, tmp_path):
    assert archive.unpack(made, root) == []  # the same records
    (tmp_path / "out").mkdir()
    other = tmp_path / "out" / PLACE
    other.parent.mkdir(parents=True)
    other.write_bytes(b"mine")
    with pytest.raises(
        BadArchive,
        match="expected no other file in its place, got one: move it away or unpack elsewhere",
    ):
        archive.unpack(made, tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").rglob("*.*")] == ["0.parquet"]
    assert other.read_bytes() == b"mine"


@pytest.mark.parametrize(
    "content",
    [
        b"#!/bin/sh\n",
        b"",
        WHOLE[:-1],
        WHOLE[:VALUE] + b"\x01" + WHOLE[VALUE + 1 :],
        WHOLE + b"PK",
    ],
    ids=["script", "nothing", "cut", "changed", "appended"],
)
def test_what_is_no_whole_record_is_refused(tmp_path, content):
    source = forged(tmp_path / "forged.zip", [(PLACE.replace("0.", "1."), WHOLE), (PLACE, content)])
    with pytest.raises(
        BadArchive, match=f"{PLACE}: expected a whole record, got another file: get th"
    ):
        archive.unpack(source, tmp_path / "target")
    assert list(tmp_path.iterdir()) == [source]


def test_a_parquet_file_without_a_header_is_refused(tmp_path):
    pq.write_table(pa.table({"y": [0.0]}), tmp_path / "foreign")
    foreign = (tmp_path / "foreign").read_bytes()
    with pytest.raises(BadArchive, match="expected a whole record"):
        archive.unpack(forged(tmp_path / "forged.zip", [(PLACE, foreign)]), tmp_path / "target")
    for header in ({"trace_sha256": 3, "rows": 1}, {"trace_sha256": [], "rows": {}}):
        told = pa.table({"y": [0.0]}).replace_schema_metadata({record.KEY: json.dumps(header)})
        pq.write_table(told, tmp_path / "foreign")
        foreign = (tmp_path / "foreign").read_bytes()
        with pytest.raises(BadArchive, match="expected a whole record"):
            archive.unpack(forged(tmp_path / "forged.zip", [(PLACE, foreign)]), tmp_path / "target")
    assert not (tmp_path / "target").exists()


def test_an_older_archive_with_a_manifest_is_unpacked(tmp_path):
    source = forged(tmp_path / "old.zip", [("manifest.json", b"{}"), (PLACE, WHOLE)])
    assert archive.unpack(source, tmp_path) == [PLACE]


HIDING = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c"
UNSEEN = "\u200b\u200d\ufeff\u00ad\u2060\u180e\u034f\u3164\ufe0f\U000e0041\U000e0100\ue000"
CONTROLS = "\x01\x07\x1b\x7f\x85\x9b\u2028\u00a0"


@pytest.mark.parametrize("character", HIDING + UNSEEN + CONTROLS, ids=ascii)
def test_a_name_that_hides_what_it_is_is_refused_and_shown_escaped(tmp_path, character):
    source = tmp_path / "forged.zip"
    name = PLACE.replace("A", f"A{character}B")
    members = [(name, WHOLE), (PLACE, WHOLE)]
    with pytest.raises(BadArchive, match="got the name ") as refused:
        archive.unpack(forged(source, members), tmp_path / "target")
    said = str(refused.value)
    assert character not in said and said.isprintable()
    assert re.search(r"A\\(x|u|U000)[0-9a-f]{2,5}B/0\.parquet", said)
    assert list(tmp_path.iterdir()) == [source]


def test_names_in_other_scripts_are_no_hiding_ones(tmp_path):
    for name in ("Größe", "δ-BKB", "方法", "GP-UCB@per_arm+b-1"):
        place = PLACE.replace("/A/", f"/{name}/")
        source = forged(tmp_path / "made.zip", [(place, WHOLE)])
        assert archive.unpack(source, tmp_path) == [place]
        assert (tmp_path / place).read_bytes() == WHOLE


def test_a_record_that_comes_while_others_are_unpacked_is_left(made, tmp_path, monkeypatch):
    """Between the checks and the write a run may finish."""
    out, link = tmp_path / "out", os.link

    def late(source, place):
        if Path(place) == out / PLACE:
            Path(place).write_bytes(b"mine")
        link(source, place)

    monkeypatch.setattr(archive.os, "link", late)
    with pytest.raises(BadArchive, match="expected no other file in its place, got one: move it"):
        archive.unpack(made, out)
    assert (out / PLACE).read_bytes() == b"mine"
    assert list(out.rglob("*.part")) == []


def test_an_archive_that_changes_while_it_is_unpacked_gives_nothing_unchecked(
    made, tmp_path, monkeypatch
):
    """What was checked is what is written."""
    read, seen = zipfile.ZipFile.read, []

    def changing(self, name, *args):
        seen.append(name)
        content = read(self, name, *args)
        return content if seen.count(name) == 1 else content + b"x"

    monkeypatch.setattr(zipfile.ZipFile, "read", changing)
    with pytest.raises(BadArchive, match="the archive was changed meanwhile; unpack it again"):
        archive.unpack(made, tmp_path / "out")
    assert not any(path.is_file() for path in (tmp_path / "out").rglob("*"))


def test_a_folder_with_a_hidden_name_is_not_archived(root, tmp_path):
    """It could not be unpacked again."""
    (root / "results/paper/toy/p/A\u202e").symlink_to(root / "results/paper/toy/p/A")
    assert len(archive.record_paths(root)) == 9  # and the one that is cut off


def test_where_there_are_no_links_records_are_renamed(root, made, tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(archive.os, "link", refuse)
    assert len(archive.unpack(made, tmp_path / "out")) == 8
    assert (tmp_path / "out" / PLACE).read_bytes() == (root / PLACE).read_bytes()
    assert list((tmp_path / "out").rglob("*.part")) == []


def test_a_link_in_the_place_of_a_record_is_not_written_through(made, tmp_path):
    place = tmp_path / "out" / PLACE
    place.parent.mkdir(parents=True)
    place.symlink_to("elsewhere")
    with pytest.raises(BadArchive, match="expected no other file in its place"):
        archive.unpack(made, tmp_path / "out")
    assert sorted(path.name for path in place.parent.iterdir()) == ["0.parquet"]


def test_the_command_unpacks_here_and_says_what_was_new(root, made, tmp_path, monkeypatch, capsys):
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path / "out")
    for count in (8, 0):
        assert archive.main(["--unpack", str(made)]) == 0
        assert f"made.zip to results/: {count} new records" in capsys.readouterr().err
    assert Path(PLACE).read_bytes() == (root / PLACE).read_bytes()
    assert Path(PLACE).stat().st_mode & 0o777 == 0o644
    Path(PLACE).write_bytes(b"mine")
    assert archive.main(["--unpack", str(made)]) == 1
    told = capsys.readouterr().err
    assert told.startswith("error: results/paper/toy/p/A/0.parquet: expected no other file")
    assert "move it away or unpack elsewhere" in told and Path(PLACE).read_bytes() == b"mine"
    with pytest.raises(SystemExit):
        archive.main(["--unpack", str(made), "--scale", "smoke"])


def test_a_link_within_the_target_does_not_lead_out_of_it(made, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "out" / "results").symlink_to(tmp_path / "outside")
    with pytest.raises(BadArchive, match="got a link that leads out of it"):
        archive.unpack(made, tmp_path / "out")
    assert list((tmp_path / "outside").iterdir()) == []
