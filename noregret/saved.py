"""Files of an optimizer's state: NumPy's .npz of arrays of numbers and one text, no pickle."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from workflow.trace.atomic import atomic

FORMAT = "noregret optimizer 2"
ARRAYS = ("x", "u", "y", "g", "pending", "failed", "queue")
TABLE = "arms"  # beside them, if there is one


def write(path: Path, *, text: str, arrays: Mapping[str, NDArray]) -> None:
    """A whole file or none."""
    with atomic(path) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, format=FORMAT, text=text, **dict(arrays))


def read(path: Path) -> tuple[str, dict[str, NDArray]]:
    """Text and arrays of such a file. Raises ValueError where it is none, OSError where it cannot
    be read.
    """
    with complaining(path), np.load(path, allow_pickle=False) as file:
        if not hasattr(file, "files") or "format" not in file.files:
            raise ValueError("expected NumPy's .npz with a format")
        if (form := str(file["format"])) != FORMAT:
            raise ValueError(f"expected the format {FORMAT!r}, got {form!r}")
        arrays = {name: file[name] for name in (*ARRAYS, TABLE) if name in file.files}
        if missing := [name for name in ARRAYS if name not in arrays]:
            raise ValueError(f"expected an array {missing[0]!r}, got none")
        return str(file["text"]), arrays


@contextmanager
def complaining(path: Path) -> Iterator[None]:
    """Whatever is wrong with the contents is told with the name of the file."""
    try:
        yield
    except (ValueError, LookupError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(
            f"{path}: expected a file that Optimizer.save has written, got another or a damaged"
            f" one ({error})"
        ) from None
