"""Tables of delimited text, against one written by hand, and the tables that stand in for them."""

import hashlib

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from workflow.data import delimited
from workflow.data.manifest import Dataset, File, Layout, Substitute, read_manifest
from workflow.data.places import DataUnavailable
from workflow.plan.resolve import ROOT

RAW = b"9;M;0.5;7\n8;F;0.25;9\n7;?;1;1\n\n6;M;0.125;11"
VALUES = np.array([[1, 7, 0.5], [2, 9, 0.25], [1, 11, 0.125]])
CONTENT = hashlib.sha256(b"sex,rings,target\n" + VALUES.astype("<f8").tobytes()).hexdigest()
WORDS = {"title": "", "licence": "", "citation": "", "sources": (), "content_sha256": CONTENT}
COLUMNS = {"id": "", "sex": "code", "length": "mm", "rings": "number"}
ANIMALS = Dataset(
    **WORDS,
    name="animals",
    mirror=(File(path="animals"),),
    substitute=Substitute(made_by="shipped_diabetes", says="other patients"),
    rows=3,
    separator=";",
    columns=COLUMNS,
    target="length",
    ignored=("id",),
    codes={"sex": {"M": 1, "F": 2}},
)


def values(prepared):
    return np.column_stack([column.to_numpy() for column in prepared.table.columns])


@pytest.fixture
def raw(tmp_path):
    (tmp_path / "raw").write_bytes(RAW)
    return tmp_path / "raw"


def test_a_table_is_read_with_codes_and_without_incomplete_rows(raw):
    table = delimited.parse(ANIMALS, raw)
    assert_array_equal(values(table), VALUES)
    assert table.table.column_names == ["sex", "rings", "target"]
    assert (table.data, table.content_sha256) == ("real", CONTENT)
    assert dict(table.features) == {"sex": "code", "rings": "number"}


def test_another_content_is_an_error(raw):
    raw.write_bytes(RAW.replace(b"0.25", b"0.26"))
    message = f"animals: expected 3 rows with content_sha256 {CONTENT}, got 3 rows with"
    with pytest.raises(DataUnavailable, match=message):
        delimited.parse(ANIMALS, raw)


def test_another_order_of_columns_is_recognised_by_the_content(raw):
    layout = Layout(separator=" ", columns=("length", "rings", "sex", "id"))
    table = "0.5 7 M 9\n2.5e-1  9 F 8\n1.25E-01\t11 M 6\n"
    for prose, text in (
        ("Animals, in order:\nlength\n", table),
        ("", "0.5 1:7 2:M 3:9\n0.25 1:9 2:F 3:8\n0.125 1:11 2:M 3:6\n"),
    ):
        raw.write_text(prose + text)
        found = delimited.parse(ANIMALS.model_copy(update={"layouts": (layout,)}), raw)
        assert_array_equal(values(found), VALUES)
        swapped = Layout(separator=" ", columns=("sex", "rings", "length", "id"))
        with pytest.raises(DataUnavailable, match=r"got 0 rows with .* or 0 rows with"):
            delimited.parse(ANIMALS.model_copy(update={"layouts": (swapped,)}), raw)


@pytest.mark.parametrize("text", [b"\xff\xfe;", b"a;b\n" * 9, b"", b"9;M;nan;7\n"])
def test_text_that_is_no_table_is_another_content(raw, text):
    raw.write_bytes(text)
    with pytest.raises(DataUnavailable, match="animals: expected 3 rows"):
        delimited.parse(ANIMALS, raw)


def test_what_stands_in_does_not_change():
    for name, content in [
        ("abalone", "fb5f45700b680a5b86650c29ed2392b5b844efa11c80250fcd4b2f839ec2732b"),
        ("cadata", "9f6338f90b6c21a302809e8b34a9cc001c48516bc7dceac39fd228c305436eb8"),
        ("breast_cancer", "f2897615809b93d685df1e2be2a7f6f5eb6b8d2368f90fe0446a938a5777cb9c"),
        ("australian", "337a46dd202274c8b494c0edf3af4f3ff881a493db94cc5f790e25df214a50df"),
        ("diabetes", "210b97c0e76df2f692ecbb0be64fa3f79babedfb4557a74a5c2755a28175bc5f"),
    ]:
        assert delimited.substitute(read_manifest(ROOT)[name]).content_sha256 == content


def test_synthetic_tables_have_size_and_range_of_the_real_ones():
    for name, low, high, step in [
        ("abalone", 1, 29, 1),
        ("cadata", 14999, 500001, 100),
        ("australian", 0, 1, 1),
    ]:
        dataset = read_manifest(ROOT)[name]
        made = delimited.substitute(dataset)
        table = values(made)
        features, target = table[:, :-1], table[:, -1]
        assert table.shape == (dataset.rows, len(dataset.features) + 1)
        assert np.isfinite(table).all() and (features.std(axis=0) > 0.1).all()
        assert low <= target.min() and target.max() <= high
        assert (np.isin(target, [low, high]) | (target % step == 0)).all()
        centred = np.column_stack([features - features.mean(axis=0), np.ones(len(features))])
        residual = target - centred @ np.linalg.lstsq(centred, target, rcond=None)[0]
        # something to learn, and not all of it linear
        assert 0.1 < 1 - residual.var() / target.var() < 0.9
