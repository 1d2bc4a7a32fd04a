"""A record that was cut or in which a bit was flipped is found by whoever reads it, wherever in the
file that is.
"""

from __future__ import annotations

import os
import shutil

import pyarrow.parquet as pq
import pytest

from tests.faults import steep
from workflow.operate import verify

PLACE = steep.FOLDER / "1.parquet"


def flipped(content, byte):
    """The same bytes but for one bit of one of them, every other time the one that makes text no
    text.
    """
    changed = bytearray(content)
    changed[byte] ^= 1 << (7 if byte % 2 else byte // 2 % 7)
    return bytes(changed)


def place(path, where):
    """A byte among the times, or in the header, of a record; both lie outside the trace."""
    content, found = path.read_bytes(), pq.ParquetFile(path).metadata.row_group(0)
    if where == "header":
        return content.index(b"ARROW:schema") + 500
    (column,) = [
        column
        for column in map(found.column, range(found.num_columns))
        if column.path_in_schema == "timing.tell"
    ]
    # the size counts the page of distinct values, where there is one: in the middle are values
    first = column.dictionary_page_offset or column.data_page_offset
    return first + column.total_compressed_size // 2


@pytest.mark.slow
def test_records_that_are_whole_and_were_moved_make_nothing_again(finished):
    """As a copy without time stamps has them."""
    for path in (finished / "results").rglob("*.parquet"):
        os.utime(path)
    kept = steep.inodes(finished)
    again = steep.snakemake(finished)
    assert again.returncode == 0 and "Nothing to be done" in again.stderr + again.stdout
    assert steep.inodes(finished) == kept


@pytest.mark.slow
@pytest.mark.parametrize("where", ["times", "header", "end"])
def test_a_damaged_record_is_refused_by_all_who_read_it_and_made_again_once_it_is_moved_away(
    finished, expected, where
):
    path = finished / PLACE
    content, kept = (
        path.read_bytes(),
        {name: inode for name, inode in steep.inodes(finished).items() if name != path.name},
    )
    path.write_bytes(content[:1000] if where == "end" else flipped(content, place(path, where)))
    drawn = steep.checkout.run(finished, "workflow.report", "steep", "best", "--scale", "smoke")
    assert drawn.returncode == 1 and str(PLACE) in drawn.stderr and "move it away" in drawn.stderr
    assert not (finished / "figures").exists()
    judged = verify.judge(verify.Candidate(PLACE, (), 0.0, substitute=False), finished)
    assert judged.outcome == verify.DAMAGED and str(PLACE) in judged.why
    refused = steep.run(finished)
    assert (
        refused.returncode == 1
        and "1.parquet: expected" in refused.stderr
        and "move it away" in refused.stderr
    )
    shutil.move(path, finished / "away")
    again = steep.run(finished)
    assert again.returncode == 0, again.stderr
    assert steep.traces(finished) == expected and steep.beside(finished) == set()
    assert {name: steep.inodes(finished)[name] for name in kept} == kept
