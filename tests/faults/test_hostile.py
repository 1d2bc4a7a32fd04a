"""Archives, manifests, servers and names that mean harm write nowhere else and run nothing."""

import hashlib
import io
import re
import shutil
import tarfile
import zipfile

import pytest
import yaml

from tests.workflow import checkout
from workflow.data import fetch, raw_file
from workflow.data.manifest import File
from workflow.data.places import DataUnavailable
from workflow.data.raw_file import Rejected
from workflow.run import job

WANTED = b"the file"
FILE = File(path="x", sha256=hashlib.sha256(WANTED).hexdigest(), bytes=len(WANTED))


def tar(*members, mode="w:gz"):
    """An archive of (name, content, kind, link)."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as made:
        for name, content, kind, link in members:
            info = tarfile.TarInfo(name)
            info.size, info.type, info.linkname = len(content), kind, link
            made.addfile(info, io.BytesIO(content))
    return stream.getvalue()


def zipped(content, *, flags=0, method=None):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("x", content)
    changed = bytearray(stream.getvalue())
    entry = changed.index(b"PK\x01\x02")
    changed[6] |= flags
    changed[entry + 8] |= flags
    if method is not None:
        changed[8] = changed[entry + 10] = method
    return bytes(changed)


BOMB = bytes(50 << 20)
LINK, SYMLINK, REGULAR = tarfile.LNKTYPE, tarfile.SYMTYPE, tarfile.REGTYPE


ARCHIVES = [
    (tar(("x", b"", SYMLINK, "/etc/passwd")), "no plain file"),
    (tar(("x", b"", SYMLINK, "../../../etc/passwd")), "no plain file"),
    (tar(("x", b"", LINK, "y"), ("y", WANTED, REGULAR, "")), "no plain file"),
    (tar(("x", b"", SYMLINK, "y"), ("y", b"", SYMLINK, "x")), "no plain file"),
    (tar(("x", b"", tarfile.CHRTYPE, "")), "no plain file"),
    (tar(("x", b"", tarfile.FIFOTYPE, "")), "no plain file"),
    (tar(("x", b"", tarfile.DIRTYPE, "")), "no plain file"),
    (tar(("../x", WANTED, REGULAR, "")), "filename 'x' not found"),
    (tar(("/x", WANTED, REGULAR, "")), "filename 'x' not found"),
    (tar(("x\n", WANTED, REGULAR, "")), "filename 'x' not found"),
    (tar(("x", BOMB, REGULAR, "")), "expected 8 bytes, got more than"),
    (tar(("x", BOMB, REGULAR, ""), mode="w:xz"), "expected 8 bytes, got more than"),
    (zipped(BOMB), "expected 8 bytes, got more than"),
    (zipped(WANTED, flags=1), "which is encrypted"),
    (zipped(WANTED, method=99), "not supported"),
    (zipped(b"another"), "got sha256"),
    (tar(("x", WANTED * 9999, REGULAR, ""))[:200], "expected an archive with x"),
    (b"\x1f\x8b\x08\x00 no gzip", "expected an archive with x"),
    (b"BZh9 no bzip2", "expected an archive with x"),
    (b"", "expected an archive with x"),
]


def test_an_archive_in_the_data_gives_the_one_file_that_is_wanted_or_none(tmp_path):
    folder = tmp_path / "data" / "raw"
    folder.mkdir(parents=True)
    for content, message in ARCHIVES:
        (tmp_path / "archive").write_bytes(content)
        with pytest.raises(Rejected) as refused:
            raw_file.unpack(tmp_path / "archive", "x", folder / "x", FILE)
        assert message in str(refused.value)
        assert {path.name for path in tmp_path.rglob("*")} == {"archive", "data", "raw"}


def test_what_else_is_in_an_archive_is_not_written(tmp_path):
    evil = [
        ("../evil", b"e", REGULAR, ""),
        (str(tmp_path / "absolute"), b"e", REGULAR, ""),
        ("evil", b"", SYMLINK, "/etc"),
        ("evil/passwd", b"e", REGULAR, ""),
    ]
    (tmp_path / "archive").write_bytes(tar(*evil, ("x", WANTED, REGULAR, "")))
    (tmp_path / "raw").mkdir()
    raw_file.unpack(tmp_path / "archive", "x", tmp_path / "raw" / "x", FILE)
    assert (tmp_path / "raw" / "x").read_bytes() == WANTED
    assert {path.name for path in tmp_path.rglob("*")} == {"archive", "raw", "x"}


def test_what_a_server_says_is_shown_in_one_line_and_nothing_in_it_hides():
    for text, shown in [
        ("δ-BKB, Größe: 3 µm", "δ-BKB, Größe: 3 µm"),
        ("a\u202egpj.exe", r"a\u202egpj.exe"),
        ("\x1b[2J\x07", r"\x1b[2J\x07"),
        ("two\r\nlines", r"two\r\nlines"),
        ("tag\U000e0041", r"tag\U000e0041"),
        ("half\udc80", r"half\udc80"),
    ]:
        assert str(Rejected(text)) == shown


def test_a_mirror_with_an_endless_file_does_not_fill_the_disk(tmp_path):
    endless = tmp_path / "endless"
    endless.symlink_to("/dev/zero")
    with pytest.raises(Rejected, match="got more than"):
        fetch._bring(fetch.Origin(str(endless), FILE), tmp_path / "raw" / "x", FILE)
    assert list((tmp_path / "raw").iterdir()) == []


FILES = {"mirror": [{"path": "toy/x", "sha256": "0" * 64, "bytes": 8}]}
FILES |= {"sources": [{"url": "https://example.org/x"}], "content_sha256": "0" * 64}
TABLE = {"rows": 1, "separator": ",", "columns": {"a": ""}, "target": "a"}
BARE = {"title": "t", "licence": "CC0", "citation": "nobody", **FILES}
BARE |= {"substitute": {"made_by": "regression", "says": "t"}}
ENTRY = {**BARE, **TABLE}


def places(path):
    return {**ENTRY, "mirror": [{**ENTRY["mirror"][0], "path": path}]}


def url(address):
    return {**ENTRY, "sources": [{**ENTRY["sources"][0], "url": address}]}


MANIFESTS = [
    ({"toy": places("../../../etc/cron.d/x")}, "expected a file as folder/name"),
    ({"toy": places("/etc/passwd")}, "expected a file as folder/name"),
    ({"toy": places("toy/../../x")}, "expected a file as folder/name"),
    ({"toy": places("toy/.ssh")}, "expected a file as folder/name"),
    ({"toy": places("toy\\x")}, "expected a file as folder/name"),
    ({"toy": places("toy/x\n")}, "expected a file as folder/name"),
    ({"toy": url("file:///etc/passwd")}, "expected a http or https URL"),
    ({"toy": url("ftp://example.org/x")}, "expected a http or https URL"),
    ({"../toy": ENTRY}, "expected a name of small letters, digits and _"),
    ({"toy\nother": ENTRY}, "expected a name of small letters, digits and _"),
    ({"toy": {**ENTRY, "mirror": [{"path": "toy/x", "colour": "blue"}]}}, "colour"),
    ({"toy": {**ENTRY, "sources": [{"member": "x"}]}}, "sources.0.url: Field required"),
    (
        {"toy": {**ENTRY, "sources": [{"url": "https://example.org", "file": "/etc/x"}]}},
        "expected a file among toy/x",
    ),
    ({"toy": {**ENTRY, "format": "smoke"}}, "expected a format among delimited, nasbench101, got"),
    ({"toy": BARE}, "toy: expected the fields rows, separator, columns, target, got none"),
    ({"toy": None}, "expected fields, got None"),
    (["toy"], "expected entries by the name of a data set"),
    ("x: [", "is no valid YAML"),
    ("x: !!python/object/apply:os.system ['touch pwned']", "is no valid YAML"),
]


def test_a_manifest_names_places_below_the_data_and_addresses_on_the_web(tmp_path):
    (tmp_path / "data").mkdir()
    for entries, message in MANIFESTS:
        text = entries if isinstance(entries, str) else yaml.safe_dump(entries)
        (tmp_path / "data" / "manifest.yaml").write_text(text)
        with pytest.raises(DataUnavailable) as refused:
            fetch.prepare("toy", root=tmp_path, substitutes=False)
        said = str(refused.value)
        assert message in said and "data/manifest.yaml" in said
        assert "correct the entry" in said or "get it again" in said
        assert [path.name for path in tmp_path.rglob("*")] == ["data", "manifest.yaml"]


def test_a_data_set_is_named_never_a_path(tmp_path, monkeypatch, capsys):
    (tmp_path / "data").mkdir()
    shutil.copy(checkout.ROOT / "data" / "manifest.yaml", tmp_path / "data")
    monkeypatch.chdir(tmp_path)
    known = "abalone, cadata, breast_cancer, australian, diabetes, nasbench101"
    for name in ("../../etc/passwd", "/etc/passwd", "..", "", "abalone\n", "abalone/../x", "WDBC"):
        assert fetch.main([name, "--substitutes", "allowed"]) == 1
        said = f"expected a data set of data/manifest.yaml ({known}), got {name!r}"
        assert said in capsys.readouterr().err
    assert {path.name for path in tmp_path.rglob("*")} == {"data", "manifest.yaml"}


def test_a_run_is_named_never_a_path(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for arguments in [
        ("../bkb", "abalone", "BKB", "0"),
        ("bkb", "../abalone", "BKB", "0"),
        ("bkb", "abalone", "../BKB", "0"),
        ("bkb", "abalone", "BKB", "../0"),
        ("bkb", "abalone", "BKB", "0/1"),
        ("bkb", "abalone", "BKB@../..", "0"),
        ("bkb", "abalone", "BKB\n", "0"),
        ("bkb", "studies", "../../x", "0"),
        ("bkb", "..", "BKB", "0"),
        ("bkb", "abalone", "BKB", "0", "--scale", "../smoke"),
    ]:
        scale = () if "--scale" in arguments else ("--scale", "smoke")
        assert job.main([*arguments, *scale]) == 1
        assert re.search("known: |known there: |seeds: expected", capsys.readouterr().err)
    assert list(tmp_path.iterdir()) == []
