"""The data layer against a local server: every way a file can be missing, late or wrong."""

import hashlib
import io
import os
import socket
import tarfile
import threading
import time
import zipfile
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml
from numpy.testing import assert_array_equal

from workflow import fetch
from workflow.fetch import DataUnavailable

REPOSITORY = Path(__file__).resolve().parents[2]
REAL_MIRROR = os.environ.get("NOREGRET_DATA", "")
RAW = b"M,0.5,7\nF,0.25,9\n?,1,1\nI,0.125,11\n"
WRONG = b"<html>please log in to this network, it is longer than the file</html>"
VALUES = np.array([[1, 0.5, 7], [2, 0.25, 9], [3, 0.125, 11]])
CONTENT = hashlib.sha256(b"sex,length,target\n" + VALUES.astype("<f8").tobytes()).hexdigest()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class Server:
    """Serves `routes`: path -> list of (status, body, announced length); the last answer repeats. Counts in `hits`."""

    def __init__(self) -> None:
        self.routes: dict[str, list[tuple[int, bytes, int]]] = {}
        self.hits: Counter[str] = Counter()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                answers = server.routes.get(self.path, [(404, b"", 0)])
                status, body, length = answers[min(server.hits[self.path], len(answers) - 1)]
                server.hits[self.path] += 1
                self.send_response(status)
                self.send_header("Content-Length", str(length))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def serve(self, path: str, *bodies: bytes) -> str:
        self.routes[path] = [(200, body, len(body)) for body in bodies]
        return self.url + path


@pytest.fixture
def server():
    running = Server()
    yield running
    running.http.shutdown()
    running.http.server_close()


@pytest.fixture(autouse=True)
def short_waits(monkeypatch):
    monkeypatch.setattr(fetch, "WAITS", (0.01, 0.01))
    monkeypatch.delenv("NOREGRET_DATA", raising=False)
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


def write_manifest(root: Path, *sources: dict, content: str = CONTENT) -> None:
    toy = {
        "title": "three animals",
        "licence": "CC0",
        "citation": "nobody",
        "mirror": {"path": "toy/toy.data", "sha256": sha256(RAW), "bytes": len(RAW)},
        "sources": [{"stated_by": "this test", **source} for source in sources],
        "rows": 3,
        "separator": ",",
        "columns": {"sex": "code", "length": "mm", "rings": "rings"},
        "target": "rings",
        "codes": {"sex": {"M": 1, "F": 2, "I": 3}},
        "content_sha256": content,
        "substitute": {
            "made_by": "regression",
            "says": "a toy",
            "shape": {"centre": 10, "spread": 0.3, "low": 1, "high": 29, "step": 1},
        },
    }
    (root / "data").mkdir(parents=True, exist_ok=True)
    (root / "data" / "manifest.yaml").write_text(yaml.safe_dump({"toy": toy}, sort_keys=False))


def source(url: str, content: bytes = RAW) -> dict:
    return {"url": url, "sha256": sha256(content), "bytes": len(content), "verified": True}


def refusal(root: Path) -> str:
    with pytest.raises(DataUnavailable) as caught:
        fetch.prepare("toy", root=root, substitutes=False)
    return str(caught.value)


def values(path: Path) -> np.ndarray:
    return np.column_stack([column.to_numpy() for column in pq.read_table(path).columns])


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


# where a file may come from


def test_a_mirror_directory_gives_a_table_with_its_provenance(root, mirror, monkeypatch):
    monkeypatch.setenv("NOREGRET_DATA", str(mirror))
    path = fetch.prepare("toy", root=root, substitutes=False)
    assert path == root / "data" / "prepared" / "toy.parquet"
    assert_array_equal(values(path), VALUES)
    assert pq.read_schema(path).names == ["sex", "length", "target"]
    assert fetch.provenance(path) == {
        "name": "toy",
        "data": "real",
        "content_sha256": CONTENT,
        "source": "mirror",
        "licence": "CC0",
        "citation": "nobody",
        "features": {"sex": "code", "length": "mm"},
    }
    assert (root / "data" / "raw" / "toy" / "toy.data").read_bytes() == RAW


def test_a_mirror_may_be_a_url(root, mirror, server, monkeypatch):
    server.serve("/files/toy/toy.data", RAW)
    for address in (f"{server.url}/files", f"{server.url}/files/", mirror.as_uri()):
        monkeypatch.setenv("NOREGRET_DATA", address)
        path = fetch.prepare("toy", root=root, substitutes=False)
        assert fetch.provenance(path)["source"] == "mirror"
        (root / "data" / "raw" / "toy" / "toy.data").unlink()


def test_without_a_mirror_the_canonical_url_is_asked_and_remembered(root, server):
    url = server.serve("/toy.data", RAW)
    write_manifest(root, source(url))
    first = fetch.prepare("toy", root=root, substitutes=False)
    content = first.read_bytes()
    first.unlink()
    assert fetch.prepare("toy", root=root, substitutes=False).read_bytes() == content
    assert fetch.provenance(first)["source"] == url
    assert server.hits["/toy.data"] == 1


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
    packed = stream.getvalue()
    entry = source(server.serve("/toy", packed), packed)
    write_manifest(root, {**entry, "member": {"path": "other.data", "sha256": sha256(RAW)}})
    assert "expected an archive with other.data" in refusal(root)
    write_manifest(root, {**entry, "member": {"path": "folder/toy.data", "sha256": sha256(RAW)}})
    assert_array_equal(values(fetch.prepare("toy", root=root, substitutes=False)), VALUES)


def test_a_mirror_that_lacks_the_file_falls_back_to_the_canonical_url(root, mirror, server, monkeypatch, capsys):
    (mirror / "toy" / "toy.data").unlink()
    monkeypatch.setenv("NOREGRET_DATA", str(mirror))
    write_manifest(root, source(server.serve("/toy.data", RAW)))
    assert fetch.provenance(fetch.prepare("toy", root=root, substitutes=False))["source"].startswith("http")
    assert "toy/toy.data: No such file or directory" in capsys.readouterr().err


def test_a_wrong_file_in_a_mirror_is_reported_and_left_alone(root, mirror, server, monkeypatch, capsys):
    (mirror / "toy" / "toy.data").write_bytes(WRONG)
    monkeypatch.setenv("NOREGRET_DATA", str(mirror))
    write_manifest(root, source(server.serve("/toy.data", RAW)))
    fetch.prepare("toy", root=root, substitutes=False)
    assert (mirror / "toy" / "toy.data").read_bytes() == WRONG
    said = capsys.readouterr().err
    assert f"got sha256 {sha256(WRONG)} ({len(WRONG)} bytes)" in said and f"expected sha256 {sha256(RAW)}" in said


def test_each_source_has_its_own_checksum(root, server):
    shorter = RAW.rstrip(b"\n")  # as hosts without the last newline serve it
    write_manifest(root, source(server.serve("/toy.csv", shorter), shorter))
    path = fetch.prepare("toy", root=root, substitutes=False)
    path.unlink()
    fetch.prepare("toy", root=root, substitutes=False)  # data/raw holds the shorter file, and that is right
    assert fetch.provenance(path)["content_sha256"] == CONTENT
    assert server.hits["/toy.csv"] == 1


def test_a_file_put_into_raw_by_hand_is_used(root):
    raw = root / "data" / "raw" / "toy" / "toy.data"
    raw.parent.mkdir(parents=True)
    raw.write_bytes(RAW)
    path = fetch.prepare("toy", root=root, substitutes=False)
    assert fetch.provenance(path)["source"] == "data/raw, put there by hand"


# what can go wrong


def test_a_corrupted_raw_file_is_set_aside_and_replaced(root, mirror, monkeypatch, capsys):
    monkeypatch.setenv("NOREGRET_DATA", str(mirror))
    raw = root / "data" / "raw" / "toy" / "toy.data"
    for damaged in (RAW[:9], RAW.replace(b"7", b"8"), b""):
        raw.parent.mkdir(parents=True, exist_ok=True)
        raw.write_bytes(damaged)
        fetch.prepare("toy", root=root, substitutes=False)
        aside = raw.with_name(f"toy.data.{sha256(damaged)[:8]}.corrupt")
        assert raw.read_bytes() == RAW and aside.read_bytes() == damaged
        assert f"set aside as {aside.name}" in capsys.readouterr().err


def test_a_missing_page_is_asked_for_once(root, server):
    write_manifest(root, source(f"{server.url}/gone"))
    assert "HTTP 404" in refusal(root)
    assert server.hits["/gone"] == 1


def test_wrong_bytes_are_asked_for_once(root, server):
    write_manifest(root, {**source(server.serve("/toy.data", WRONG)), "verified": False})
    assert "/toy.data (checksum not verified by us): expected sha256" in refusal(root)
    server.hits.clear()
    assert f"got sha256 {sha256(WRONG)} ({len(WRONG)} bytes)" in refusal(root)
    assert server.hits["/toy.data"] == 1
    assert not (root / "data" / "raw").exists()


@pytest.mark.parametrize(
    "trouble", [(503, b"", 0), (200, RAW[:9], len(RAW)), (200, RAW[:9], 9)], ids=["503", "truncated", "short"]
)
def test_transient_trouble_is_tried_again(root, server, trouble):
    write_manifest(root, source(f"{server.url}/toy.data"))
    server.routes["/toy.data"] = [trouble]
    refusal(root)
    assert server.hits["/toy.data"] == 3
    assert not (root / "data" / "raw").exists()
    server.routes["/toy.data"] = [trouble] * 5 + [(200, RAW, len(RAW))]
    assert_array_equal(values(fetch.prepare("toy", root=root, substitutes=False)), VALUES)
    assert server.hits["/toy.data"] == 6


def test_a_transfer_that_trickles_ends(root, server, monkeypatch):
    monkeypatch.setattr(fetch, "DEADLINE", -1.0)
    write_manifest(root, source(server.serve("/toy.data", RAW)))
    assert "not complete after" in refusal(root)


def test_a_refused_connection_is_found_out_once_per_host_and_soon(root, monkeypatch):
    monkeypatch.undo()  # the real waits
    monkeypatch.delenv("NOREGRET_DATA", raising=False)
    monkeypatch.setenv("no_proxy", "*")
    host = f"http://127.0.0.1:{closed_port()}"
    write_manifest(root, source(f"{host}/a"), source(f"{host}/b"), source(f"{host}/c"))
    start = time.monotonic()
    message = refusal(root)
    assert time.monotonic() - start < 3
    assert message.count("Connection refused") == 3


def test_a_network_that_swallows_everything_does_not_hold_up_the_substitute(root, monkeypatch):
    monkeypatch.setattr(fetch, "CONNECT", 0.1)

    def swallow(*_: object, **__: object) -> socket.socket:
        time.sleep(1)
        raise TimeoutError("timed out")

    monkeypatch.setattr(fetch.socket, "create_connection", swallow)
    write_manifest(root, source(f"http://127.0.0.1:{closed_port()}/a"))
    start = time.monotonic()
    fetch.prepare("toy", root=root, substitutes=True)
    assert time.monotonic() - start < 0.8


def test_a_refusal_lists_all_that_was_tried_and_what_to_do(root, mirror, server, monkeypatch):
    (mirror / "toy" / "toy.data").write_bytes(WRONG)
    monkeypatch.setenv("NOREGRET_DATA", str(mirror))
    closed = f"http://127.0.0.1:{closed_port()}/toy.data"
    write_manifest(root, source(f"{server.url}/gone"), source(closed), source(server.serve("/toy.data", RAW[:9])))
    raw = root / "data" / "raw" / "toy" / "toy.data"
    raw.parent.mkdir(parents=True)
    raw.write_bytes(RAW[:5])
    message = refusal(root)
    for expected in (
        f"{raw}: expected sha256 {sha256(RAW)} ({len(RAW)} bytes), got sha256 {sha256(RAW[:5])} (5 bytes)",
        f"NOREGRET_DATA={mirror}, toy/toy.data: expected",
        f"{server.url}/gone: HTTP 404",
        f"{closed}: no connection to 127.0.0.1: Connection refused",
        f"{server.url}/toy.data: expected sha256 {sha256(RAW)}",
        "set NOREGRET_DATA to a directory (or URL of one) that contains toy/toy.data",
        "put the file at data/raw/toy/toy.data",
        "--substitutes allowed",
    ):
        assert expected in message


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("ftp://127.0.0.1/x", "expected a directory or a http, https or file URL, got ftp:"),
        ("http://127.0.0.1:x/", "not a URL: Port could not be cast"),
        ("/nowhere", "no such directory"),
    ],
)
def test_a_mirror_that_is_none_is_named(root, monkeypatch, address, reason):
    monkeypatch.setenv("NOREGRET_DATA", address)
    assert reason in refusal(root)


def test_a_manifest_that_expects_other_content_is_an_error_in_both_modes(root, mirror, monkeypatch):
    monkeypatch.setenv("NOREGRET_DATA", str(mirror))
    write_manifest(root, content="0" * 64)
    with pytest.raises(DataUnavailable, match="manifest and parser disagree"):
        fetch.prepare("toy", root=root, substitutes=True)


def test_a_target_that_cannot_be_written_is_named_and_no_reason_for_a_substitute(root, mirror, monkeypatch):
    monkeypatch.setenv("NOREGRET_DATA", str(mirror))
    (root / "data" / "raw").write_text("a file where a folder must be")  # holds for root too, unlike permissions
    for substitutes in (False, True):
        with pytest.raises(DataUnavailable, match=r"data/raw/toy/toy\.data: cannot be written"):
            fetch.prepare("toy", root=root, substitutes=substitutes)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_named(root, mirror, monkeypatch):
    monkeypatch.setenv("NOREGRET_DATA", str(mirror))
    (root / "data").chmod(0o555)
    try:
        assert "cannot be written (Permission denied)" in refusal(root)
    finally:
        (root / "data").chmod(0o755)


def test_a_failure_in_the_middle_of_writing_leaves_the_old_table(root, mirror, monkeypatch):
    monkeypatch.setenv("NOREGRET_DATA", str(mirror))
    path = fetch.prepare("toy", root=root, substitutes=False)
    before = path.read_bytes()

    def full(_: object, half_written: Path, **__: object) -> None:
        half_written.write_bytes(b"PAR1")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(fetch.pq, "write_table", full)
    assert "No space left on device" in refusal(root)
    assert path.read_bytes() == before
    assert [found.name for found in path.parent.iterdir()] == ["toy.parquet"]


# substitutes


def test_a_substitute_is_labelled_and_lies_elsewhere(root):
    path = fetch.prepare("toy", root=root, substitutes=True)
    assert path == root / "data" / "prepared" / "or-substitute" / "toy.parquet"
    header = fetch.provenance(path)
    assert header["data"] == "substitute: a toy"
    assert header["source"] == "generated by workflow.fetch"
    assert header["content_sha256"] != CONTENT
    assert values(path).shape == VALUES.shape


def test_where_substitutes_are_allowed_real_data_are_still_preferred(root, mirror, monkeypatch):
    monkeypatch.setenv("NOREGRET_DATA", str(mirror))
    real = fetch.prepare("toy", root=root, substitutes=False)
    allowed = fetch.prepare("toy", root=root, substitutes=True)
    assert allowed != real and allowed.read_bytes() == real.read_bytes()


def test_the_same_bytes_come_out_twice(root, tmp_path):
    write_manifest(tmp_path / "other")
    first, again = (fetch.prepare("toy", root=place, substitutes=True) for place in (root, tmp_path / "other"))
    assert first.read_bytes() == again.read_bytes()


@pytest.mark.parametrize(
    ("name", "low", "high", "step"), [("abalone", 1, 29, 1), ("cadata", 14999, 500001, 100), ("australian", 0, 1, 1)]
)
def test_synthetic_tables_have_size_and_range_of_the_real_ones(name, low, high, step):
    dataset = fetch.read_manifest(REPOSITORY)[name]
    table = fetch.MAKERS[dataset.substitute.made_by](dataset)
    features, target = table.values[:, :-1], table.values[:, -1]
    assert table.values.shape == (dataset.rows, len(dataset.features) + 1)
    assert np.isfinite(table.values).all() and (features.std(axis=0) > 0.1).all()
    assert low <= target.min() and target.max() <= high
    assert (np.isin(target, [low, high]) | (target % step == 0)).all()
    centred = np.column_stack([features - features.mean(axis=0), np.ones(len(features))])
    residual = target - centred @ np.linalg.lstsq(centred, target, rcond=None)[0]
    assert 0.1 < 1 - residual.var() / target.var() < 0.9  # something to learn, and not all of it linear


def test_the_table_that_scikit_learn_ships_is_the_real_wdbc():
    dataset = fetch.read_manifest(REPOSITORY)["wdbc"]
    table = fetch._without_file(dataset, [], substitutes=False)
    assert (table.data, table.source) == ("real", "scikit-learn load_breast_cancer")


@pytest.mark.parametrize(("name", "shape"), [("breast_cancer", (569, 31)), ("diabetes", (442, 11))])
def test_shipped_stand_ins_of_other_data_are_substitutes(name, shape):
    dataset = fetch.read_manifest(REPOSITORY)[name]
    table = fetch._without_file(dataset, [], substitutes=True)
    assert table.data.startswith("substitute: ") and str(shape[0]) in table.data
    assert table.values.shape == shape and set(table.values[:, -1]) == {0, 1}
    with pytest.raises(DataUnavailable):
        fetch._without_file(dataset, [], substitutes=False)


# the command line, the manifest, real data


def test_the_command_prepares_what_it_can_and_says_what_it_cannot(root, mirror, monkeypatch, capsys):
    monkeypatch.chdir(root)
    assert fetch.main(["toy"]) == 1
    said = capsys.readouterr().err
    assert "no verified copy of toy/toy.data" in said and "Traceback" not in said
    monkeypatch.setenv("NOREGRET_DATA", str(mirror))
    assert fetch.main(["nonsense", "toy"]) == 1
    assert "expected a data set of data/manifest.yaml (toy), got 'nonsense'" in capsys.readouterr().err
    assert (root / "data" / "prepared" / "toy.parquet").is_file()
    assert fetch.main(["toy", "--substitutes", "allowed", "-o", str(root / "here.parquet")]) == 0
    assert fetch.provenance(root / "here.parquet")["data"] == "real"


def test_one_output_path_is_for_one_name(capsys):
    with pytest.raises(SystemExit):
        fetch.main(["abalone", "cadata", "-o", "x.parquet"])
    assert "-o takes one NAME, got 2" in capsys.readouterr().err


def test_outside_a_checkout_the_command_says_where_to_go(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert fetch.main(["abalone"]) == 1
    assert "run from the repository root" in capsys.readouterr().err


def test_provenance_of_a_foreign_file_is_refused(tmp_path):
    (tmp_path / "foreign.parquet").write_bytes(b"PAR1 but no")
    for name in ("foreign.parquet", "missing.parquet"):
        with pytest.raises(DataUnavailable, match="cannot read it"):
            fetch.provenance(tmp_path / name)


def test_the_manifest_is_complete_and_consistent():
    datasets = fetch.read_manifest(REPOSITORY)
    assert list(datasets) == ["abalone", "cadata", "breast_cancer", "wdbc", "australian", "diabetes"]
    for name, dataset in datasets.items():
        assert dataset.mirror.path.startswith(f"{name}/")
        assert dataset.substitute.made_by in fetch.MAKERS
        assert dataset.target in dataset.columns and dataset.sources
        checksums = [dataset.content_sha256, *dataset.accepted, *(source.sha256 for source in dataset.sources)]
        assert all(len(checksum) == 64 and int(checksum, 16) for checksum in checksums)
        for one in dataset.sources:
            assert one.url.startswith("https://") and one.stated_by
            assert not one.member or one.member["sha256"] in dataset.accepted


@pytest.mark.skipif(not REAL_MIRROR, reason="needs the real data: set NOREGRET_DATA to a mirror of data/manifest.yaml")
@pytest.mark.parametrize("name", ["abalone", "cadata", "breast_cancer", "wdbc", "australian", "diabetes"])
def test_real_data_have_the_expected_content(tmp_path, name, monkeypatch):
    monkeypatch.setenv("NOREGRET_DATA", REAL_MIRROR)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "manifest.yaml").write_bytes((REPOSITORY / "data" / "manifest.yaml").read_bytes())
    path = fetch.prepare(name, root=tmp_path, substitutes=False)
    dataset = fetch.read_manifest(tmp_path)[name]
    assert fetch.provenance(path)["content_sha256"] == dataset.content_sha256
    assert values(path).shape == (dataset.rows, len(dataset.features) + 1)
