"""Problems without a data file, asked with known seeds; tables as the preparation has them."""

import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from problems import load
from workflow.data import fetch

MANIFEST = Path(__file__).resolve().parents[2] / "data" / "manifest.yaml"
needs_data = pytest.mark.skipif(
    "NOREGRET_DATA" not in os.environ, reason="needs the real data: set NOREGRET_DATA to a mirror"
)
BOX = {"d": 20, "low": -5.0, "high": 5.0}
WLAN = {"topology": "twelve", "interference": "neighbours", "scale": "linear"}
WLAN |= {"backend": "closed-form", "bandwidth": 1}
BOSS = {"mode": "five-numbers", "bias": 1.0, "floor": -60.0, "backend": "growth"}
WITHIN = {"d": 3, "constraints": 2, "offset": 0.5, "features": 200, "lengthscales": "official-code"}
PROBLEMS = {  # the options of each but for the noise
    "synthetic.unit_network": {**BOX, "hidden": 25},
    "synthetic.styblinski_tang": BOX,
    "synthetic.rastrigin": BOX,
    "additive.six_hump_camel": {},
    "additive.hartmann": {},
    "additive.powell": {"d": 24, "maximiser": "published"},
    "additive.rastrigin": {"d": 100, "factor_size": 5, "maximiser": "published"},
    "gp_samples.within_model": WITHIN,
    "structures.truss25": {"load": "official", "alpha": 20.0},
    "structures.cantilever": {"displacement": "correct"},
    "rover.trajectory_planning": {
        "domain": "unit",
        "ends": "control-points",
        "smoothing": "default",
    },
    "wlan.shannon_capacity": WLAN,
    "cosmology.boss_likelihood": BOSS,
}


def rng(seed=0):
    return np.random.default_rng(seed)


def problem(name, seed=0, **changes):
    return load(name)(rng(seed), **{"noise": 0.1, **PROBLEMS.get(name, {}), **changes})


def true(found, query):
    """What queries (q, d), or a single one (d,), show without noise."""
    return found.evaluate(np.atleast_2d(query), rng()).true


def written(folder, values, data="real", last="target"):
    """A table of columns x0, x1, ... and the last one; its numbers lie plainly in the file."""
    header = {"name": "toy", "data": data, "content_sha256": "ab" * 32}
    names = [*(f"x{i}" for i in range(values.shape[1] - 1)), last]
    table = pa.Table.from_arrays([pa.array(column) for column in values.T], names=names)
    table = table.replace_schema_metadata({"noregret": json.dumps(header)})
    path = folder / "toy.parquet"
    pq.write_table(table, path, write_page_checksum=True, use_dictionary=False, compression="none")
    return path


def real(folder, name):
    """The real table, prepared from the mirror."""
    (folder / "data").mkdir()
    (folder / "data" / "manifest.yaml").write_bytes(MANIFEST.read_bytes())
    return fetch.prepare(name, root=folder, substitutes=False)
