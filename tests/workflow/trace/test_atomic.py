"""Files are there whole or not at all, and what killed writers left does not stay for ever."""

import os
import stat

import pytest

from workflow.trace import atomic as module
from workflow.trace.atomic import atomic, sweep


@pytest.fixture
def path(tmp_path):
    """A file that is there, and nothing beside it."""
    place = tmp_path / "0.parquet"
    place.write_text("old")
    return place


def names(folder):
    return sorted(found.name for found in folder.iterdir())


def left(path, name, *, ago=0.0):
    """What a killed writer left beside a file, touched so many seconds ago."""
    part = path.with_name(name)
    part.write_text("half")
    now = part.stat().st_mtime
    os.utime(part, (now - ago,) * 2)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_an_atomic_write_shows_nothing_before_its_end(tmp_path):
    path = tmp_path / "new" / "file.txt"
    with atomic(path) as temporary:
        temporary.write_text("half")
        assert temporary.parent == path.parent
        assert not path.exists()
        temporary.write_text("whole")
    assert path.read_text() == "whole"
    assert names(path.parent) == ["file.txt"]
    assert mode(path) == 0o644


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_an_atomic_write_that_fails_leaves_nothing_behind(path, error):
    def fail():
        with atomic(path) as temporary:
            temporary.write_text("half")
            raise error

    with pytest.raises(error):
        fail()
    assert path.read_text() == "old"
    assert names(path.parent) == [path.name]


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_disk_that_is_full_at_the_very_end_leaves_nothing_behind(path, monkeypatch, call):
    def full(*_):
        raise OSError(28, "No space left on device")

    target = module.os if call == "fsync" else module.Path
    monkeypatch.setattr(target, call, full)
    with pytest.raises(OSError, match="No space left"), atomic(path) as temporary:
        temporary.write_text("whole")
    monkeypatch.undo()
    assert path.read_text() == "old"
    assert names(path.parent) == [path.name]


def test_parts_of_an_hour_ago_are_removed_and_recent_ones_are_not(path, monkeypatch):
    """Whatever the clock of this machine says: files of a network have times of their own."""
    monkeypatch.setattr("time.time", lambda: 0.0)
    left(path, ".0.parquet.killed.part", ago=module.ABANDONED + 60)
    left(path, ".0.parquet.busy.part", ago=module.ABANDONED - 60)
    left(path, ".1.parquet.killed.part", ago=module.ABANDONED + 60)
    with atomic(path) as temporary:
        parts = [".0.parquet.busy.part", ".1.parquet.killed.part", temporary.name]
        assert names(path.parent) == sorted([path.name, *parts])
        temporary.write_text("new")
    assert path.read_text() == "new"


def test_two_writers_of_one_file_do_not_disturb_each_other(path):
    with atomic(path) as one:
        with atomic(path) as other:
            other.write_text("first")
        assert path.read_text() == "first"
        one.write_text("second")
    assert path.read_text() == "second"
    assert names(path.parent) == [path.name]


def test_what_killed_writers_left_is_swept_and_nothing_else(path):
    kept = [".1.parquet.abc.part", "0.parquet.abc.part", ".0.parquet.more.abc.part", ".0.parquet"]
    for name in (".0.parquet.abc.part", ".0.parquet.d_3.part", *kept):
        left(path, name)
    path.with_name("..part").mkdir()
    sweep(path)
    assert names(path.parent) == sorted([path.name, "..part", *kept])


def test_a_name_is_no_pattern(tmp_path):
    path = tmp_path / "[0-9].parquet"
    left(path, ".[0-9].parquet.abc.part")
    left(path, ".3.parquet.abc.part")
    sweep(path)
    assert names(tmp_path) == [".3.parquet.abc.part"]


def test_what_cannot_be_removed_or_leads_elsewhere_disturbs_nobody(path, tmp_path):
    path.with_name(".0.parquet.folder.part").mkdir()
    path.with_name(".0.parquet.nowhere.part").symlink_to("nowhere")
    path.with_name(".0.parquet.link.part").symlink_to(path.name)
    sweep(path)
    assert names(tmp_path) == [".0.parquet.folder.part", path.name]
    assert path.read_text() == "old"
    sweep(tmp_path / "no" / "folder" / "0.parquet")
