"""Disks that are full, read-only or lost in part, and clocks that were set back."""

import os
import shutil
import subprocess
import time

import pytest

from tests import programs
from tests.faults import steep

pytestmark = pytest.mark.slow  # whole workflows, one after another

FIGURE = ("workflow.report", "steep", "best", "--scale", "smoke")
PAGE = 4096
AHEAD = 10 * 86400.0  # seconds by which a clock was set back


def mount(*arguments):
    done = programs.run(["mount", *map(str, arguments)])
    if done.returncode:
        pytest.skip(f"nothing can be mounted here: {done.stderr.strip()}")


def unmount(folder):
    """Take a disk away at once, even if a process just stopped still holds a file there."""
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture
def small(empty):
    """small(pages) -> results/ on a disk filled up but for so many pages; remove the filling."""
    folder = empty / "results"
    folder.mkdir()

    def filled(pages):
        filling = folder / "filling"
        with filling.open("wb", buffering=0) as file:
            while file.write(bytes(PAGE)) == PAGE and shutil.disk_usage(folder).free > pages * PAGE:
                pass
        return filling

    mount("-t", "tmpfs", "-o", "size=256k", "tmpfs", folder)
    (empty / steep.FOLDER).mkdir(parents=True)
    yield filled
    unmount(folder)


def test_a_disk_that_is_full_leaves_no_part_of_a_record_and_says_what_to_do(small, empty, expected):
    for pages in (0, 1, 2):  # no lease can be written; a lease, but no record; a record in part
        filling = small(pages)
        full = steep.run(empty)
        assert full.returncode == 1 and "Traceback" not in full.stderr
        for said in ("No space left on device", "make room on the disk", "run again"):
            assert said in full.stderr
        assert not steep.traces(empty) and not steep.beside(empty)
        filling.unlink()
    steep.finish(empty, expected, kept={})


@pytest.fixture
def read_only(finished):
    """read_only() -> results/ can be read, not written, even by root; read_only.end() -> it can."""
    folder = finished / "results"
    mounted = []

    def begin():
        mount("--bind", folder, folder)
        mounted.append(folder)
        mount("-o", "remount,bind,ro", folder)

    def end():
        while mounted:
            unmount(mounted.pop())

    begin.end = end
    yield begin
    end()


def test_where_nobody_can_write_finished_records_are_drawn_and_a_missing_one_is_refused(
    read_only, finished, expected
):
    read_only()
    steep.checkout.succeed(finished, *FIGURE, "-o", "elsewhere")
    assert (finished / "elsewhere" / "best.png").stat().st_size > 0
    read_only.end()
    steep.forget(finished, 1)
    kept = steep.inodes(finished)
    read_only()
    refused = steep.run(finished)
    assert refused.returncode == 1 and "Traceback" not in refused.stderr
    assert "expected a file that can be written, got Read-only file system" in refused.stderr
    assert "make its folder writable" in refused.stderr
    read_only.end()
    steep.finish(finished, expected, kept)


def test_no_clock_and_no_memory_of_the_workflow_decide_what_is_made(finished, expected):
    """A clock set back, no time stamps, no `.snakemake`: the store hands out what it has."""
    kept = steep.inodes(finished)
    for when in (None, (time.time() + AHEAD,) * 2):
        for path in (finished / "results").rglob("*"):
            os.utime(path, when)
        again = steep.made(finished)
        assert "Nothing to be done" in again.stderr + again.stdout
        assert steep.inodes(finished) == kept
    (finished / steep.FOLDER / "1.parquet").unlink()
    del kept["1.parquet"]
    shutil.rmtree(finished / ".snakemake")
    steep.made(finished)
    steep.is_undisturbed(finished, expected, kept)
