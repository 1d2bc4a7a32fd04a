"""The data layer against a local server: files missing, late or wrong, and what stands in."""

import hashlib
import io
import os
import shutil
import sys
import tarfile
import types
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from numpy.testing import assert_array_equal

from tests.workflow.webserver import closed_port
from workflow.data import download, fetch, manifest
from workflow.data.fetch import DataUnavailable
from workflow.data.places import Prepared, substitutes_allowed, superseded

REPOSITORY = Path(__file__).resolve().parents[3]
REAL_MIRROR = os.environ.get("NOREGRET_DATA", "")
real_data = pytest.mark.skipif(
    not REAL_MIRROR,
    reason="needs the real data: set NOREGRET_DATA to a mirror of data/manifest.yaml",
)
DELIMITED = ["abalone", "cadata", "breast_cancer", "australian", "diabetes"]
RAW = b"M,0.5,7\nF,0.25,9\n?,1,1\nI,0.125,11\n"
WRONG = b"<html>please log in to this network, it is longer than the file</html>"
VALUES = np.array([[1, 0.5, 7], [2, 0.25, 9], [3, 0.125, 11]])
CONTENT = hashlib.sha256(b"sex,length,target\n" + VALUES.astype("<f8").tobytes()).hexdigest()


def sha256(content):
    return hashlib.sha256(content).hexdigest()


HELD = {"path": "toy/toy.data", "sha256": sha256(RAW), "bytes": len(RAW)}
KNOWN = {"licence": "CC0", "citation": "nobody", "mirror": [HELD]}


ANIMALS = yaml.safe_load("""
title: three animals
rows: 3
separator: ","
columns: {sex: code, length: mm, rings: rings}
target: rings
codes: {sex: {M: 1, F: 2, I: 3}}
substitute: {made_by: regression, says: a toy, shape: {centre: 10, spread: 0.3, low: 1, high: 29,
  step: 1}}
""")


@pytest.fixture(autouse=True)
def short_waits(monkeypatch):
    monkeypatch.setattr(download, "PAUSE", 0.01)
    for name in ("NOREGRET_DATA", "NOREGRET_SUBSTITUTES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("no_proxy", "*")


@pytest.fixture
def root(tmp_path):
    """A checkout whose manifest knows one small data set, `toy`, and no URL of it."""
    write_manifest(tmp_path / "checkout")
    return tmp_path / "checkout"


@pytest.fixture
def mirror(tmp_path):
    (tmp_path / "mirror" / "toy").mkdir(parents=True)
    (tmp_path / "mirror" / "toy" / "toy.data").write_bytes(RAW)
    return tmp_path / "mirror"


@pytest.fixture
def mirrored(mirror, monkeypatch):
    """The same mirror, in use."""
    monkeypatch.setenv("NOREGRET_DATA", str(mirror))
    return mirror


@pytest.fixture
def prepared(root, mirrored, monkeypatch):
    """A real table that was prepared before; nothing else is left of its data."""
    path = made(root)
    monkeypatch.delenv("NOREGRET_DATA")
    shutil.rmtree(root / "data" / "raw")
    return path


def write_manifest(root, *sources, content=CONTENT):
    toy = {**ANIMALS, **KNOWN, "sources": list(sources), "content_sha256": content}
    (root / "data").mkdir(parents=True, exist_ok=True)
    (root / "data" / "manifest.yaml").write_text(yaml.safe_dump({"toy": toy}, sort_keys=False))


def source(url):
    return {"url": url}


def made(root, *, substitutes=False):
    return fetch.prepare("toy", root=root, substitutes=substitutes)


def header(root, *, substitutes=False):
    return fetch.provenance(made(root, substitutes=substitutes))


def refusal(root):
    with pytest.raises(DataUnavailable) as caught:
        made(root)
    return str(caught.value)


def put_raw(root, content):
    """The raw file of `toy`, put there by hand."""
    path = root / "data" / "raw" / "toy" / "toy.data"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def real_manifest(root, *others):
    """The manifest of this repository in another checkout, with other parts of its data."""
    (root / "data").mkdir()
    for part in ("manifest.yaml", *others):
        (root / "data" / part).symlink_to(REPOSITORY / "data" / part)


def raw_files(root):
    return sorted(path.name for path in (root / "data" / "raw").rglob("*") if path.is_file())


def values(path):
    return np.column_stack([column.to_numpy() for column in pq.read_table(path).columns])


# where a file may come from


def test_a_mirror_directory_gives_a_table_with_its_provenance(root, mirrored):
    path = made(root)
    assert path == root / "data" / "prepared" / "toy.parquet"
    assert_array_equal(values(path), VALUES)
    assert pq.read_schema(path).names == ["sex", "length", "target"]
    said = {"name": "toy", "data": "real", "content_sha256": CONTENT, "source": "mirror"}
    said |= {"licence": "CC0", "citation": "nobody"}
    said |= {"features": {"sex": "code", "length": "mm"}}
    assert fetch.provenance(path) == said
    assert (root / "data" / "raw" / "toy" / "toy.data").read_bytes() == RAW


def ship(root, content=RAW):
    path = root / "data" / "shipped" / "toy" / "toy.data"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    return path


def test_a_shipped_file_comes_before_mirror_and_network(root, mirrored, server):
    write_manifest(root, source(server.serve("/toy.data", RAW)))
    ship(root)
    found = header(root)
    assert (found["data"], found["source"]) == ("real", "data/shipped")
    assert found["content_sha256"] == CONTENT and not server.hits["/toy.data"]
    assert raw_files(root) == ["toy.data", "toy.data.source"]


def test_a_damaged_shipped_file_is_refused_with_a_sentence_and_left_alone(root, capsys):
    path = ship(root, RAW.replace(b"0.5", b"0.6"))
    said = refusal(root)
    got = sha256(path.read_bytes())
    wrong = f"expected sha256 {sha256(RAW)} ({len(RAW)} bytes), got sha256 {got}"
    for told in (said, capsys.readouterr().err):
        assert f"{path}: {wrong}" in told and f"`git checkout {path}` restores it" in told
    assert path.exists() and raw_files(root) == []


@pytest.mark.parametrize("name", ["abalone", "australian", "breast_cancer"])
def test_small_tables_are_real_without_network_and_mirror(tmp_path, name, monkeypatch):
    real_manifest(tmp_path, "shipped")
    monkeypatch.setattr(download, "download", lambda *_: pytest.fail("no server is needed"))
    path = fetch.prepare(name, root=tmp_path, substitutes=True)
    found, expected = fetch.provenance(path), fetch.read_manifest(REPOSITORY)[name]
    assert (found["data"], found["source"]) == ("real", "data/shipped")
    assert found["content_sha256"] == expected.content_sha256
    assert expected.licence == "CC BY 4.0"
    shipped = REPOSITORY / "data" / "shipped" / expected.mirror[0].path
    assert shipped.stat().st_size == expected.mirror[0].bytes < 300_000
    listed = (REPOSITORY / "data" / "shipped" / "README.md").read_text()
    assert expected.mirror[0].sha256 in listed and expected.citation in listed


def test_a_mirror_may_be_a_url(root, mirror, server, monkeypatch):
    server.serve("/files/toy/toy.data", RAW)
    for address in (f"{server.url}/files", f"{server.url}/files/", mirror.as_uri()):
        monkeypatch.setenv("NOREGRET_DATA", address)
        path = made(root)
        assert fetch.provenance(path)["source"] == "mirror"
        (root / "data" / "raw" / "toy" / "toy.data").unlink()


@pytest.mark.parametrize("kind", ["zip", "tgz"])
def test_a_member_is_taken_out_of_an_archive(root, server, kind):
    stream = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(stream, "w") as archive:
            archive.writestr("folder/toy.data", RAW)
    else:
        with tarfile.open(fileobj=stream, mode="w:gz") as archive:
            info = tarfile.TarInfo("folder/toy.data")
            info.size = len(RAW)
            archive.addfile(info, io.BytesIO(RAW))
    entry = source(server.serve("/toy", stream.getvalue()))
    write_manifest(root, {**entry, "member": "other.data"})
    assert "expected an archive with other.data" in refusal(root)
    write_manifest(root, {**entry, "member": "folder/toy.data"})
    assert_array_equal(values(made(root)), VALUES)


def test_a_wrong_file_in_a_mirror_and_none_are_told_and_the_canonical_url_is_asked(
    root, mirrored, server, capsys
):
    file = mirrored / "toy" / "toy.data"
    file.write_bytes(WRONG)
    write_manifest(root, source(server.serve("/toy.data", RAW)))
    assert header(root)["source"].startswith("http")
    assert file.read_bytes() == WRONG
    said = capsys.readouterr().err
    assert f"expected sha256 {sha256(RAW)}" in said
    assert f"got sha256 {sha256(WRONG)} ({len(WRONG)} bytes)" in said
    file.unlink()
    shutil.rmtree(root / "data" / "raw")
    assert header(root)["source"].startswith("http")
    assert "toy/toy.data: No such file or directory" in capsys.readouterr().err


@pytest.mark.parametrize("file", [RAW, RAW.rstrip(b"\n"), RAW.replace(b"\n", b"\r\n")])
def test_without_a_mirror_the_canonical_url_is_asked_and_remembered(root, server, file):
    """The content of the table decides, and not the bytes of its file."""
    url = server.serve("/toy.csv", file)
    write_manifest(root, source(url))
    path = made(root)
    table = path.read_bytes()
    path.unlink()
    # data/raw holds the file, and that is right
    assert made(root).read_bytes() == table
    found = fetch.provenance(path)
    assert (found["data"], found["source"], found["content_sha256"]) == ("real", url, CONTENT)
    assert server.hits["/toy.csv"] == 1


def test_a_file_put_into_raw_by_hand_is_used(root):
    put_raw(root, RAW)
    assert header(root)["source"] == "data/raw, put there by hand"


# what can go wrong


def test_a_corrupted_raw_file_is_set_aside_and_replaced(root, mirrored, capsys):
    for damaged in (RAW[:9], RAW.replace(b"7", b"8"), b""):
        raw = put_raw(root, damaged)
        made(root)
        aside = raw.with_name(f"toy.data.{sha256(damaged)[:8]}.corrupt")
        assert raw.read_bytes() == RAW and aside.read_bytes() == damaged
        assert f"set aside as {aside.name}" in capsys.readouterr().err


def test_a_refusal_lists_all_that_was_tried_and_what_to_do(root, mirrored, server):
    (mirrored / "toy" / "toy.data").write_bytes(WRONG)
    closed = f"http://127.0.0.1:{closed_port()}/toy.data"
    urls = (f"{server.url}/gone", closed, server.serve("/toy.data", RAW[:9]))
    write_manifest(root, *map(source, urls))
    raw = put_raw(root, RAW[:5])
    message = refusal(root)
    for expected in (
        f"{raw}: expected sha256 {sha256(RAW)} ({len(RAW)} bytes), got sha256 {sha256(RAW[:5])}",
        f"{mirrored}/toy/toy.data: expected",
        f"{server.url}/gone: curl: (22) The requested URL returned error: 404",
        f"{closed}: curl: (7) ",
        f"{server.url}/toy.data: expected sha256 {sha256(RAW)}",
        "set NOREGRET_DATA to a directory (or URL of one) that contains toy/toy.data",
        "put the file at data/raw/toy/toy.data",
        "NOREGRET_SUBSTITUTES=allowed does so at paper scale",
        "NOREGRET_SUBSTITUTES=preferred does so at every scale and downloads nothing.",
        "`python -m workflow.fetch toy --substitutes allowed`",
    ):
        assert expected in message


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("ftp://127.0.0.1/x", "expected a directory or a http, https or file URL, got ftp:"),
        ("http://127.0.0.1:x/", "expected a URL such as https://user:password@host:443/folder"),
        ("/proc/nowhere", "/proc/nowhere/toy/toy.data: No such file or directory"),
    ],
)
def test_a_mirror_that_is_none_is_named(root, monkeypatch, address, reason):
    monkeypatch.setenv("NOREGRET_DATA", address)
    assert reason in refusal(root)


def test_a_target_that_cannot_be_written_is_named_and_no_reason_for_a_substitute(root, mirrored):
    # holds for root too, unlike permissions
    (root / "data" / "raw").write_text("a file where a folder must be")
    for substitutes in (False, True):
        with pytest.raises(DataUnavailable, match=r"data/raw/toy/toy\.data: cannot be written"):
            made(root, substitutes=substitutes)


def test_a_failure_in_the_middle_of_writing_leaves_the_old_table(root, mirrored, monkeypatch):
    path = made(root)
    before = path.read_bytes()

    def full(_, half_written, **__):
        half_written.write_bytes(b"PAR1")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(fetch.pq, "write_table", full)
    assert "No space left on device" in refusal(root)
    assert path.read_bytes() == before
    assert [found.name for found in path.parent.iterdir()] == ["toy.parquet"]


# substitutes


def test_a_substitute_is_labelled_and_lies_elsewhere(root):
    path = made(root, substitutes=True)
    assert path == root / "data" / "prepared" / "or-substitute" / "toy.parquet"
    found = fetch.provenance(path)
    assert found["data"] == "substitute: a toy"
    assert found["source"] == "generated by workflow.fetch"
    assert found["content_sha256"] != CONTENT
    assert values(path).shape == VALUES.shape


def test_at_paper_scale_substitutes_are_asked_for(monkeypatch):
    for said in ["", "allowed", "preferred"]:
        for scale in ["smoke", "paper"]:
            monkeypatch.setenv("NOREGRET_SUBSTITUTES", said)
            assert substitutes_allowed(scale) is (scale != "paper" or said != "")


def test_substitutes_that_are_asked_for_in_other_words_are_an_error(root, monkeypatch, capsys):
    monkeypatch.setenv("NOREGRET_SUBSTITUTES", "yes")
    monkeypatch.chdir(root)
    write_manifest(root, source("http://127.0.0.1:9/toy.data"))
    assert fetch.main(["toy"]) == 1
    said = capsys.readouterr().err
    assert "NOREGRET_SUBSTITUTES: expected allowed, preferred or nothing, got 'yes'" in said


@pytest.mark.parametrize("kind", ["url", "mirror"])
def test_where_substitutes_are_preferred_no_server_is_asked(root, server, monkeypatch, kind):
    url = server.serve("/files/toy/toy.data", RAW)
    if kind == "mirror":
        monkeypatch.setenv("NOREGRET_DATA", f"{server.url}/files")
    else:
        write_manifest(root, source(url))
    monkeypatch.setenv("NOREGRET_SUBSTITUTES", "preferred")
    assert header(root, substitutes=True)["data"] == "substitute: a toy"
    assert f"{url}: not asked, since NOREGRET_SUBSTITUTES=preferred" in refusal(root)
    assert not server.hits["/files/toy/toy.data"] and not (root / "data" / "raw").exists()
    monkeypatch.setenv("NOREGRET_SUBSTITUTES", "allowed")
    assert header(root, substitutes=True)["data"] == "real"


@pytest.mark.parametrize("place", ["raw", "mirror", "file URL"])
def test_where_substitutes_are_preferred_a_file_of_this_machine_is_real(
    root, mirror, monkeypatch, place
):
    monkeypatch.setenv("NOREGRET_SUBSTITUTES", "preferred")
    if place == "raw":
        put_raw(root, RAW)
    else:
        monkeypatch.setenv("NOREGRET_DATA", str(mirror) if place == "mirror" else mirror.as_uri())
    assert header(root, substitutes=True)["data"] == "real"


def test_a_real_table_that_was_prepared_before_is_copied(root, prepared, server, monkeypatch):
    write_manifest(root, source(server.serve("/toy.data", RAW)))
    for said in ("", "preferred"):
        monkeypatch.setenv("NOREGRET_SUBSTITUTES", said)
        path = made(root, substitutes=True)
        assert path.parent.name == "or-substitute" and path.read_bytes() == prepared.read_bytes()
    assert server.hits["/toy.data"] == 0


@pytest.mark.parametrize("harm", ["cut", "flipped", "foreign", "of other content", "a substitute"])
def test_a_table_prepared_before_that_is_not_the_real_one_is_reported_and_not_used(
    root, prepared, capsys, harm
):
    content = bytearray(prepared.read_bytes())
    content[content.index(np.float64(0.125).tobytes())] ^= 1
    if harm == "cut":
        prepared.write_bytes(content[:-20])
    elif harm == "flipped":
        prepared.write_bytes(content)
    elif harm == "foreign":
        pq.write_table(pa.table({"x": [1]}), prepared)
    elif harm == "of other content":
        write_manifest(root, content="0" * 64)
    else:
        prepared.unlink()
        made(root, substitutes=True).replace(prepared)
    capsys.readouterr()
    before = prepared.read_bytes()
    substituted = made(root, substitutes=True)
    said = capsys.readouterr().err
    assert fetch.provenance(substituted)["data"] == "substitute: a toy"
    assert f"toy: {prepared} is not used: " in said
    assert prepared.read_bytes() == before


def test_a_substitute_is_superseded_by_a_real_table_alone(root, mirror, monkeypatch):
    made(root, substitutes=True)
    assert not superseded("toy", root=root)
    monkeypatch.setenv("NOREGRET_DATA", str(mirror))
    real = made(root)
    assert superseded("toy", root=root)
    made(root, substitutes=True)
    assert not superseded("toy", root=root)
    real.unlink()
    assert not superseded("toy", root=root)


# other formats


TINY = pa.table({"word": ["a", "b"], "number": pa.array([1, 2], pa.int32())})


@pytest.fixture
def tiny(root, monkeypatch):
    """A data set of a format `tiny`, whose module counts the substitutes that it made."""

    def parse(dataset, raw):
        if raw.read_bytes() != RAW:
            raise DataUnavailable("parse met another file")
        return Prepared(TINY, "1" * 64, "", features={"word": "a word"})

    def substitute(dataset):
        module.made += 1
        return Prepared(TINY.slice(0, 1), "2" * 64, "made", features={"word": "a word"})

    module = types.SimpleNamespace(made=0, parse=parse, substitute=substitute)
    module.content_sha256 = lambda table: "1" * 64
    monkeypatch.setitem(sys.modules, "tiny_format", module)
    monkeypatch.setitem(manifest.FORMATS, "tiny", "tiny_format")
    write_tiny(root)
    return module


def write_tiny(root, **changes):
    entry = {"title": "two words", "format": "tiny", **KNOWN, "sources": []}
    entry["substitute"] = {"made_by": "tiny", "says": "one word"}
    kept = {name: value for name, value in {**entry, **changes}.items() if value is not None}
    (root / "data" / "manifest.yaml").write_text(yaml.safe_dump({"toy": kept}, sort_keys=False))


def test_another_format_has_its_own_columns_and_features(root, mirrored, tiny):
    path = made(root, substitutes=True)
    table = pq.read_table(path)
    assert table.to_pydict() == TINY.to_pydict() and table.schema.types == TINY.schema.types
    found = fetch.provenance(path)
    assert (found["data"], found["content_sha256"]) == ("real", "1" * 64)
    assert found["features"] == {"word": "a word"}
    assert tiny.made == 0


def test_a_substitute_of_another_format_has_its_own_label_and_licence(root, tiny):
    found = header(root, substitutes=True)
    assert (found["data"], found["source"]) == ("substitute: one word", "made")
    assert found["licence"] == "not that of toy: see source"
    assert tiny.made == 1


def test_a_verified_file_that_cannot_be_parsed_is_an_error_in_both_modes(root, mirrored, tiny):
    (mirrored / "toy" / "toy.data").write_bytes(WRONG)
    held = {"path": "toy/toy.data", "sha256": sha256(WRONG), "bytes": len(WRONG)}
    write_tiny(root, mirror=[held])
    for substitutes in (True, False):
        with pytest.raises(DataUnavailable, match="parse met another file"):
            made(root, substitutes=substitutes)
    assert tiny.made == 0


@pytest.mark.parametrize("name", ["toy.data", "all.data"])
def test_one_file_of_several_is_enough_and_each_has_its_checksum(root, mirrored, tiny, name):
    (mirrored / "toy" / "toy.data").rename(mirrored / "toy" / name)
    held = {"sha256": sha256(RAW), "bytes": len(RAW)}
    write_tiny(root, mirror=[{"path": f"toy/{one}", **held} for one in ("toy.data", "all.data")])
    found = header(root)
    assert (found["data"], found["content_sha256"]) == ("real", "1" * 64)
    assert raw_files(root) == [name, f"{name}.source"]


def test_a_file_of_another_checksum_is_admitted_on_demand_and_says_so(
    root, server, monkeypatch, tiny
):
    other = {"path": "toy/toy.data", "sha256": "0" * 64, "bytes": 8}
    write_tiny(root, mirror=[other], sources=[source(server.serve("/toy.data", RAW))])
    message = refusal(root)
    assert f"got sha256 {sha256(RAW)}" in message
    assert "`python -m workflow.fetch toy --accept-unverified`" in message
    monkeypatch.chdir(root)
    assert fetch.main(["toy", "--accept-unverified"]) == 0
    found = fetch.provenance(root / "data" / "prepared" / "toy.parquet")
    assert found["data"] == f"unverified: toy.data of sha256 {sha256(RAW)}"
    assert found["licence"] == "CC0"
    # smaller scales take this table, too
    assert header(root, substitutes=True) == found


def test_what_cannot_be_read_is_not_admitted_on_demand(root, mirrored, monkeypatch, tiny, capsys):
    (mirrored / "toy" / "toy.data").write_bytes(WRONG)
    monkeypatch.chdir(root)
    assert fetch.main(["toy", "--accept-unverified"]) == 1
    assert "parse met another file" in capsys.readouterr().err
    assert raw_files(root) == []


# the command line, the manifest, real data


def test_the_command_prepares_what_it_can_and_says_what_it_cannot(
    root, mirror, monkeypatch, capsys
):
    monkeypatch.chdir(root)
    assert fetch.main(["toy"]) == 1
    said = capsys.readouterr().err
    assert "no verified copy of toy/toy.data" in said and "Traceback" not in said
    monkeypatch.setenv("NOREGRET_DATA", str(mirror))
    assert fetch.main(["nonsense", "toy"]) == 1
    said = capsys.readouterr().err
    assert "expected a data set of data/manifest.yaml (toy), got 'nonsense'" in said
    assert (root / "data" / "prepared" / "toy.parquet").is_file()
    assert fetch.main(["toy", "--substitutes", "allowed", "-o", str(root / "here.parquet")]) == 0
    assert fetch.provenance(root / "here.parquet")["data"] == "real"


def test_outside_a_checkout_the_command_says_where_to_go(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert fetch.main(["abalone"]) == 1
    assert "run from the repository root" in capsys.readouterr().err


@real_data
@pytest.mark.parametrize("name", DELIMITED)
def test_real_data_have_the_expected_content(tmp_path, name, monkeypatch):
    monkeypatch.setenv("NOREGRET_DATA", REAL_MIRROR)
    real_manifest(tmp_path)
    path = fetch.prepare(name, root=tmp_path, substitutes=False)
    dataset = fetch.read_manifest(tmp_path)[name]
    assert fetch.provenance(path)["content_sha256"] == dataset.content_sha256
    assert values(path).shape == (dataset.rows, len(dataset.features) + 1)


@real_data
@pytest.mark.parametrize("style", ["StatLib", "LIBSVM"])
def test_cadata_is_recognised_in_the_order_of_other_hosts(tmp_path, style, monkeypatch):
    rows = np.loadtxt(Path(REAL_MIRROR, "cadata", "cal_housing.data"), delimiter=",")
    rows = rows[:, [8, 7, 2, 3, 4, 5, 6, 1, 0]]
    path = tmp_path / "mirror" / "cadata" / "cadata.txt"
    path.parent.mkdir(parents=True)
    prose, row = ("", "{:.1f} " + " ".join(f"{k}:{{}}" for k in range(1, 9)))
    if style == "StatLib":
        prose, row = "Median house values, and what they are of\nsee the paper\n", "  {:.16e}" * 9
    path.write_text(prose + "\n".join(row.format(*values) for values in rows))
    monkeypatch.setenv("NOREGRET_DATA", str(path.parents[1]))
    real_manifest(tmp_path)
    found = fetch.provenance(fetch.prepare("cadata", root=tmp_path, substitutes=False))
    assert (found["data"], found["source"]) == ("real", "mirror")
