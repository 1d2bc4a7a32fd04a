"""A record that was cut or in which a bit was flipped is found by whoever reads it, wherever in the
file that is.
"""

from __future__ import annotations

import os
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.faults import steep
from workflow.operate import archive, verify
from workflow.trace import record

PLACE = steep.FOLDER / "1.parquet"


def flipped(content, byte):
    """The same bytes but for one bit of one of them, every other time the one that makes text no
    text.
    """
    changed = bytearray(content)
    changed[byte] ^= 1 << (7 if byte % 2 else byte // 2 % 7)
    return bytes(changed)


def test_no_flipped_bit_gives_another_record(undisturbed, tmp_path):
    """In every third byte of the rows and every byte of the footer: what is read without complaint
    is what was written.
    """
    content, whole = (undisturbed / PLACE).read_bytes(), record.read(undisturbed / PLACE)
    said = {name: value for name, value in whole.header.items() if name != record.SEAL}
    path, found, told = tmp_path / "1.parquet", 0, set()
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    for byte in (*range(0, footer, 3), *range(footer, len(content))):
        path.write_bytes(flipped(content, byte))
        record.read_header(path)
        try:
            read = record.read(path)
        except record.BadRecord as error:
            found += 1
            told.add(str(error).partition(": ")[0])
            continue
        # where the name of the seal itself was hit, nothing else was
        assert {name: read.header.get(name) for name in said} == said, f"byte {byte}"
        assert {name: values.tobytes() for name, values in read.columns.items()} == {
            name: values.tobytes() for name, values in whole.columns.items()
        }, f"byte {byte}"
    assert told == {str(path)}
    # the rest is statistics and a second copy of the header, which nobody reads
    assert found > len(content) / 4


def test_no_cut_gives_a_record(undisturbed, tmp_path):
    content, path = (undisturbed / PLACE).read_bytes(), tmp_path / "1.parquet"
    for length in range(0, len(content), 31):
        path.write_bytes(content[:length])
        with pytest.raises(
            record.BadRecord, match="half-written or foreign; move it away and run again"
        ):
            record.read(path)


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


def harmed(finished, harm):
    """Replace a record; the sentence that everybody says about it."""
    path = finished / PLACE
    content = path.read_bytes()
    if harm == "cut":
        path.write_bytes(content[:1000])
    elif harm == "flipped":
        path.write_bytes(flipped(content, place(path, "times")))
    else:
        pq.write_table(pa.table({"y": [1.0]}), path)
    with pytest.raises(record.BadRecord) as refused:
        record.read(path)
    return str(refused.value).replace(f"{finished}/", "")


@pytest.mark.parametrize("harm", ["cut", "flipped", "foreign"])
def test_verify_and_reports_say_the_same_of_a_damaged_record(finished, expected, harm):
    """Until it is moved away; then the workflow makes it again, also where the store has the same
    damaged file, which is set aside.
    """
    kept = {name: inode for name, inode in steep.inodes(finished).items() if name != PLACE.name}
    sentence = harmed(finished, harm)
    assert str(PLACE) in sentence and "move it away" in sentence and "run again" in sentence
    verified = steep.checkout.run(finished, "workflow.verify", "--minutes", "0.1")
    assert verified.returncode == 1 and sentence in verified.stdout
    assert verified.stdout.endswith("1 of 1 records agree bit for bit; 1 damaged\n")
    drawn = steep.checkout.run(finished, "workflow.report", "steep", "best", "--scale", "smoke")
    assert drawn.returncode == 1 and sentence in drawn.stderr
    shutil.move(finished / PLACE, finished / "away")
    again = steep.snakemake(finished)
    assert again.returncode == 0, again.stderr
    assert steep.traces(finished) == expected
    assert {name: steep.inodes(finished)[name] for name in kept} == kept


def test_records_that_are_whole_and_were_moved_make_nothing_again(finished):
    """As a copy without time stamps has them."""
    for path in (finished / "results").rglob("*.parquet"):
        os.utime(path)
    kept = steep.inodes(finished)
    again = steep.snakemake(finished)
    assert again.returncode == 0 and "Nothing to be done" in again.stderr + again.stdout
    assert steep.inodes(finished) == kept


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
    with pytest.raises(
        archive.BadArchive, match=rf"1 records are damaged, nothing was written:(.|\n)*{PLACE}"
    ):
        archive.write(finished / "all.zip", root=finished)
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
