"""A record that was cut is found by whoever reads it; test_record.py flips its bits."""

import shutil

import pytest

from tests.faults import steep
from workflow.operate import verify

pytestmark = pytest.mark.slow  # whole workflows

PLACE = steep.FOLDER / "1.parquet"


def test_a_damaged_record_is_refused_by_all_who_read_it_and_made_again_once_it_is_moved_away(
    finished, expected
):
    """Also where Snakemake has forgotten that it was half written."""
    shutil.rmtree(finished / ".snakemake")
    path = finished / PLACE
    kept = {name: inode for name, inode in steep.inodes(finished).items() if name != path.name}
    path.write_bytes(path.read_bytes()[:1000])
    drawn = steep.checkout.run(finished, "workflow.report", "steep", "best", "--scale", "smoke")
    assert drawn.returncode == 1 and str(PLACE) in drawn.stderr and "move it away" in drawn.stderr
    assert not (finished / "figures").exists()
    assert str(PLACE) in verify.survey(finished).damaged[PLACE]
    refused = steep.run(finished)
    assert refused.returncode == 1
    assert "1.parquet: expected" in refused.stderr and "move it away" in refused.stderr
    shutil.move(path, finished / "away")
    steep.finish(finished, expected, kept)
