"""A list of records knows which of its files are not what it listed, and reads no others."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from workflow.trace import listing, record

CURVES = {"A": (0, 1), "B": (0, 1)}


def write(path, level):
    record.write(path, {"seed": 1}, {"y": np.full(4, float(level))})


@pytest.fixture
def marker(tmp_path):
    """A list of four records in two folders, as a job leaves it."""
    place = tmp_path / "p" / "A" / "seeds-0-1.json"
    traces = {}
    for number, (curve, seeds) in enumerate(CURVES.items()):
        for seed in seeds:
            path = listing.place(place, curve, str(seed))
            write(path, 10 * number + seed)
            trace = record.read_header(path)["trace_sha256"]
            traces.setdefault(curve, {})[str(seed)] = trace
    said = {"trace_sha256": traces, "files": listing.files(place, CURVES), "work_seconds": 1.0}
    place.write_text(json.dumps(said))
    return place


@pytest.fixture
def unread(monkeypatch):
    """Reading a record fails the test."""
    monkeypatch.setattr(record, "read", lambda path: pytest.fail(f"{path} was read"))


def entries(marker):
    return listing.listed(marker, listing.text(marker))


def touched(path, seconds=1):
    found = path.stat()
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns + seconds * 10**9))


def test_files_that_are_as_listed_are_not_read(marker, unread):
    assert listing.damages(marker) == []
    assert {one.path.relative_to(marker.parents[1]).as_posix() for one in entries(marker)} == {
        "A/0.parquet",
        "A/1.parquet",
        "B/0.parquet",
        "B/1.parquet",
    }


@pytest.mark.parametrize("harm", ["cut", "flipped", "foreign", "text", "empty"])
def test_a_file_that_is_not_as_listed_is_read_and_refused_by_name(marker, harm, tmp_path):
    path = listing.place(marker, "B", "1")
    content = path.read_bytes()
    if harm == "foreign":
        record.pq.write_table(record.pa.table({"y": [1.0]}), path)
    else:
        spoiled = bytearray(content)
        spoiled[20] ^= 1
        path.write_bytes(
            {"cut": content[:-100], "flipped": spoiled, "text": b"notes", "empty": b""}[harm]
        )
    (sentence,) = listing.damages(marker)
    assert sentence.startswith(f"{path}: expected")
    assert "move it away" in sentence and "run again" in sentence


def test_a_cut_that_keeps_the_time_is_seen_by_the_size(marker):
    path = listing.place(marker, "A", "0")
    before = path.stat()
    path.write_bytes(path.read_bytes()[:-1])
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert len(listing.damages(marker)) == 1


def test_another_whole_record_in_its_place_is_told(marker):
    path = listing.place(marker, "A", "0")
    shutil.copy(listing.place(marker, "B", "1"), path)
    (sentence,) = listing.damages(marker)
    assert sentence.startswith(f"{path}: expected the record with trace") and "listed" in sentence


def test_files_that_were_moved_and_are_whole_are_read_once(marker, monkeypatch):
    for one in entries(marker):
        touched(one.path)
    before, text = marker.stat(), json.loads(marker.read_text())
    reads = []
    whole = record.read
    monkeypatch.setattr(record, "read", lambda path: reads.append(path) or whole(path))
    assert listing.damages(marker) == [] and len(reads) == 4
    assert listing.damages(marker) == [] and len(reads) == 4
    after = json.loads(marker.read_text())
    assert marker.stat().st_mtime_ns == before.st_mtime_ns  # or Snakemake would draw everything
    assert {**after, "files": None} == {**text, "files": None} and after["files"] != text["files"]
    assert [path.name for path in marker.parent.iterdir() if path.name.startswith(".")] == []


def test_a_list_with_a_damaged_record_is_not_renewed(marker):
    for one in entries(marker):
        touched(one.path)
    listing.place(marker, "A", "0").write_bytes(b"")
    before = marker.read_bytes()
    assert len(listing.damages(marker)) == len(listing.damages(marker)) == 1
    assert marker.read_bytes() == before


def test_a_list_of_before_goes_by_its_own_time(marker, monkeypatch):
    said = json.loads(marker.read_text())
    del said["files"]
    marker.write_text(json.dumps(said))
    with monkeypatch.context() as patch:
        patch.setattr(record, "read", lambda path: pytest.fail(f"{path} was read"))
        assert listing.damages(marker) == []
    path = listing.place(marker, "A", "0")
    path.write_bytes(b"")
    touched(path)
    assert len(listing.damages(marker)) == 1


def test_a_record_that_is_lost_is_nobodys_damage(marker, unread):
    listing.place(marker, "A", "0").unlink()
    assert listing.damages(marker) == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"trace_sha256": {}}',
        '{"trace_sha256": {"A": 1}}',
        '{"trace_sha256": 1}',
    ],
)
def test_a_list_that_is_not_whole_lists_nothing(marker, text):
    marker.write_text(text)
    assert listing.damages(marker) == [] and entries(marker) == []
    marker.unlink()
    assert listing.damages(marker) == [] and entries(marker) == []


def test_a_place_that_lacks_a_record_lists_the_others(marker):
    listing.place(marker, "A", "0").unlink()
    found = listing.files(marker, CURVES)
    assert set(found["A"]) == {"1"} and set(found["B"]) == {"0", "1"}


def test_a_list_that_was_made_by_hand_elsewhere_lists_no_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert listing.files(Path("made.json"), CURVES) == {}


def test_it_loads_no_numerical_library_where_nothing_has_changed(marker):
    """Snakemake looks at every list whenever it starts."""
    lines = (
        "import sys, pathlib; from workflow.trace import listing;"
        "print(listing.damages(pathlib.Path(sys.argv[1])), 'numpy' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", lines, str(marker)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[] False"
