"""Data: a verified raw file, one that ships with the repository, the mirror NOREGRET_DATA or a
canonical URL -> data/prepared/<name>.parquet.

data/manifest.yaml says what every file must be. A table that cannot be had is an error with
directions, or, where substitutes are allowed, a labelled substitute in
data/prepared/or-substitute/. NOREGRET_SUBSTITUTES=preferred: no server is asked, and what is not on
this machine is substituted.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import shutil
import sys
import tempfile
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from workflow.data.download import download
from workflow.data.extract import copy, unpack
from workflow.data.manifest import Dataset, File, Source, read_manifest
from workflow.data.partial import Rejected, check, file_sha256, say, writing
from workflow.data.places import (
    DataUnavailable,
    Prepared,
    downloads_allowed,
    mirror_as_shown,
    prepared_path,
)
from workflow.trace.record import KEY, atomic

# each has parse, substitute, content_sha256
FORMATS = {"delimited": "workflow.data.delimited", "nasbench101": "workflow.data.nasbench"}
AGAIN = "remove it and run the workflow again, which fetches it anew"
Found = tuple[Path, str]  # a verified raw file and its source


def prepare(name: str, *, root: Path, substitutes: bool) -> Path:
    """Write the prepared table of a data set below root/data and return its path.

    Raises DataUnavailable.
    """
    target = prepared_path(name, root=root, substitutes=substitutes)
    _prepare(name, target, root=root, substitutes=substitutes)
    return target


def provenance(path: Path) -> dict[str, str | dict[str, str]]:
    """What a prepared file says about itself: name, data, content_sha256, source, licence,
    citation, features.
    """
    try:
        metadata = pq.read_schema(path).metadata or {}
        header: dict[str, str | dict[str, str]] = json.loads(metadata.get(KEY, b"{}"))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DataUnavailable(
            f"{path}: expected a prepared table, cannot read it ({error}): fetch it again"
        ) from None
    if not {"name", "data", "content_sha256"} <= set(header):
        raise DataUnavailable(
            f"{path}: expected a table prepared by workflow.fetch, got a foreign parquet file"
        )
    return header


def check_table(path: Path, *, root: Path) -> None:
    """Compare the values of a prepared table with what its header states.

    Raises DataUnavailable with directions.
    """
    name = str(provenance(path)["name"])
    if name not in (known := read_manifest(root)):
        raise DataUnavailable(
            f"{path}: expected a data set of data/manifest.yaml, got {name!r}: {AGAIN}"
        )
    _check_content(path, known[name])


def _check_content(path: Path, dataset: Dataset) -> None:
    stated = provenance(path)["content_sha256"]
    content_sha256 = importlib.import_module(FORMATS[dataset.format]).content_sha256
    try:
        found = content_sha256(pq.read_table(path, page_checksum_verification=True))
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError) as error:
        raise DataUnavailable(
            f"{path}: expected a prepared table, cannot read it ({error}): {AGAIN}"
        ) from None
    if found != stated:
        raise DataUnavailable(
            f"{path}: expected content_sha256 {stated} as it says, got {found}: it was changed;"
            f" {AGAIN}"
        )


def _prepare(name: str, target: Path, *, root: Path, substitutes: bool) -> None:
    known = read_manifest(root)
    if name not in known:
        raise DataUnavailable(
            f"expected a data set of data/manifest.yaml ({', '.join(known)}), got {name!r}"
        )
    dataset = known[name]
    if dataset.format not in FORMATS:
        raise DataUnavailable(
            f"{name}: expected a format among {', '.join(FORMATS)}, got {dataset.format!r}: correct"
            " the manifest"
        )
    real = prepared_path(name, root=root, substitutes=False)
    if substitutes and _is_real(real, dataset):
        with writing(target), atomic(target) as temporary:
            shutil.copyfile(real, temporary)
        return say(f"{name}: real (a copy of {real}) -> {target}")
    tried: list[str] = []
    raw = _find(name, dataset.mirror, dataset.accepted, dataset.sources, root, tried)
    prepared = _parsed(dataset, *raw) if raw else _without_file(dataset, root, tried, substitutes)
    _write(prepared, dataset, target)
    return say(f"{name}: {prepared.data} ({prepared.source}) -> {target}")


def _is_real(path: Path, dataset: Dataset) -> bool:
    """Whether the real table was prepared before and is whole, with the content that the manifest
    states; if not, says so.
    """
    if not path.exists():
        return False
    try:
        header = provenance(path)
        _check_content(path, dataset)
    except DataUnavailable as error:
        say(f"{dataset.name}: {path} is not used: {error}")
        return False
    wanted = {
        "name": dataset.name,
        "data": "real",
        "content_sha256": dataset.content_sha256 or header.get("content_sha256"),
    }
    if other := [key for key, value in wanted.items() if header.get(key) != value]:
        say(
            f"{dataset.name}: {path} is not used: expected {other[0]} {wanted[other[0]]}, got"
            f" {header.get(other[0])}"
        )
    return not other


def _parsed(dataset: Dataset, raw: Path, source: str) -> Prepared:
    """The table in a verified raw file.

    Raises DataUnavailable if its content is not what the manifest expects.
    """
    prepared: Prepared = importlib.import_module(FORMATS[dataset.format]).parse(dataset, raw)
    return replace(prepared, source=source, data="real")


def _without_file(dataset: Dataset, root: Path, tried: list[str], substitutes: bool) -> Prepared:
    """What scikit-learn ships or a maker makes.

    Raises DataUnavailable where substitutes are refused.
    """
    if (
        not substitutes and not dataset.content_sha256
    ):  # nothing made here could turn out to be the real table
        raise DataUnavailable(_directions(dataset, root, tried))
    wanted = dataset.calibration
    found = (
        _find(dataset.name, wanted, {wanted.sha256: wanted.bytes}, (), root, []) if wanted else None
    )
    made: Prepared = importlib.import_module(FORMATS[dataset.format]).substitute(
        dataset, found[0] if found else None
    )
    if made.content_sha256 == dataset.content_sha256:
        return made
    if not substitutes:
        raise DataUnavailable(_directions(dataset, root, tried))
    label = (
        made.data
        if made.data.startswith("substitute: ")
        else f"substitute: {dataset.substitute.says}"
    )
    return replace(made, data=label)


def _find(
    name: str,
    wanted: File,
    accepted: Mapping[str, int],
    sources: tuple[Source, ...],
    root: Path,
    tried: list[str],
) -> Found | None:
    """The verified file, now in data/raw, and its source; None if nobody has it, and why in
    `tried`.
    """
    path = root / "data" / "raw" / wanted.path
    for where, source, bring in _doors(root, path, wanted, accepted, sources):
        try:
            bring()
        except Rejected as reason:
            tried.append(f"{where}: {reason}")
            if not reason.usual:
                say(f"{name}: {tried[-1]}")
            continue
        if source:
            with writing(path), atomic(_source_file(path)) as temporary:
                temporary.write_text(f"{source}\n", encoding="utf-8")
        return path, source or _source_of(path)
    return None


def _doors(
    root: Path,
    path: Path,
    wanted: File,
    accepted: Mapping[str, int],
    sources: tuple[Source, ...],
) -> Iterator[tuple[str, str, Callable[[], None]]]:
    """Where a file may be, in order: for people, for the provenance (empty: already kept), how to
    bring it to `path`.
    """
    yield str(path), "", partial(_raw, path, accepted)
    shipped = root / "data" / "shipped" / wanted.path
    yield str(shipped), "data/shipped", partial(_from_shipped, shipped, path, accepted)
    mirror = os.environ.get("NOREGRET_DATA", "")
    label = f"NOREGRET_DATA={mirror_as_shown()}, {wanted.path}" if mirror else "NOREGRET_DATA"
    yield label, "mirror", partial(_from_mirror, mirror, wanted, path, accepted)
    for source in sources:
        label = source.url if source.verified else f"{source.url} (checksum not verified by us)"
        yield label, source.url, partial(_from_url, source, path, accepted)


def _raw(path: Path, accepted: Mapping[str, int]) -> None:
    if not path.exists():
        raise Rejected("not there", usual=True)
    found = file_sha256(path)
    try:
        check(found, path.stat().st_size, accepted)
    except Rejected as reason:
        aside = path.with_name(f"{path.name}.{found[:8]}.corrupt")
        with writing(aside), suppress(FileNotFoundError):  # another process may have done it
            path.replace(aside)
        raise Rejected(f"{reason}; set aside as {aside.name}") from None


def _from_shipped(shipped: Path, path: Path, accepted: Mapping[str, int]) -> None:
    if not shipped.exists():
        raise Rejected("not there", usual=True)
    try:
        with shipped.open("rb") as file:
            copy(file, path, accepted)
    except Rejected as reason:
        raise Rejected(f"{reason}; `git checkout {shipped}` restores it") from None
    except OSError as error:
        raise Rejected(error.strerror or str(error)) from None


def _from_mirror(mirror: str, wanted: File, path: Path, accepted: Mapping[str, int]) -> None:
    if not mirror:
        raise Rejected("not set", usual=True)
    scheme = mirror.partition("://")[0] if "://" in mirror else ""
    if scheme in ("http", "https"):
        _may_ask()
        return download(f"{mirror.rstrip('/')}/{wanted.path}", path, accepted)
    if scheme not in ("", "file"):
        raise Rejected(f"expected a directory or a http, https or file URL, got {scheme}://")
    folder = Path(
        urllib.request.url2pathname(urllib.parse.urlsplit(mirror).path) if scheme else mirror
    ).expanduser()
    if not folder.is_dir():
        raise Rejected("no such directory")
    try:
        with (folder / wanted.path).open("rb") as file:
            copy(file, path, accepted)
    except OSError as error:
        raise Rejected(error.strerror or str(error)) from None
    return None


def _may_ask() -> None:
    """Raises Rejected where no server may be asked."""
    if not downloads_allowed():
        raise Rejected("not asked, since NOREGRET_SUBSTITUTES=preferred", usual=True)


def _from_url(source: Source, path: Path, accepted: Mapping[str, int]) -> None:
    _may_ask()
    if not source.member:
        return download(source.url, path, {source.sha256: source.bytes})
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        folder = tempfile.TemporaryDirectory(dir=path.parent, prefix=".archive-")
    with folder:
        archive = Path(folder.name) / "archive"
        download(source.url, archive, {source.sha256: source.bytes})
        member = source.member["sha256"]
        unpack(archive, source.member["path"], path, {member: accepted.get(member, 0)})
    return None


def _source_of(path: Path) -> str:
    note = _source_file(path)
    return (
        note.read_text(encoding="utf-8").strip()
        if note.is_file()
        else "data/raw, put there by hand"
    )


def _source_file(path: Path) -> Path:
    return path.with_name(f"{path.name}.source")


def _directions(dataset: Dataset, root: Path, tried: list[str]) -> str:
    path = dataset.mirror.path
    part = root / "data" / "raw" / f"{path}.part"
    kept = (
        [f"{part} keeps the {part.stat().st_size} bytes that came: another try goes on there."]
        if part.exists()
        else []
    )
    return "\n".join(
        [
            f"{dataset.name}: no verified copy of {path} could be had. Tried:",
            *(f"  {line}" for line in tried),
            f"Expected sha256 {dataset.mirror.sha256}, {dataset.mirror.bytes} bytes.",
            *kept,
            f"To supply it, set NOREGRET_DATA to a directory (or URL of one) that contains {path},",
            f"or put the file at data/raw/{path}.",
            (
                "Without it, the smoke and quick scales run on a labelled substitute;"
                " NOREGRET_SUBSTITUTES=allowed does so at paper scale, and its claims about values"
                " are not decided."
            ),
            "NOREGRET_SUBSTITUTES=preferred does so at every scale and downloads nothing.",
            (
                f"`python -m workflow.fetch {dataset.name} --substitutes allowed` makes that"
                " substitute now."
            ),
        ]
    )


def _write(prepared: Prepared, dataset: Dataset, path: Path) -> None:
    """Write the prepared table, with the provenance in the schema."""
    real = prepared.data == "real"
    header = {
        "name": dataset.name,
        "data": prepared.data,
        "content_sha256": prepared.content_sha256,
        "source": prepared.source,
        "licence": dataset.licence if real else f"not that of {dataset.name}: see source",
        "citation": dataset.citation if real else f"not that of {dataset.name}: see source",
        "features": dict(prepared.features),
    }
    table = prepared.table.replace_schema_metadata({KEY: json.dumps(header)})
    with writing(path), atomic(path) as temporary:
        pq.write_table(table, temporary, write_page_checksum=True)


def main(arguments: list[str] | None = None) -> int:
    """Prepare the named data sets of the checkout in the current directory; 1 if one of them cannot
    be had.
    """
    parser = argparse.ArgumentParser(prog="python -m workflow.fetch", description=__doc__)
    parser.add_argument("names", nargs="+", metavar="NAME", help="data sets of data/manifest.yaml")
    parser.add_argument(
        "--substitutes",
        choices=["allowed", "refused"],
        default="refused",
        help=(
            "what to do where a table cannot be had (default: %(default)s); allowed, it goes to"
            " data/prepared/or-substitute/"
        ),
    )
    parser.add_argument(
        "-o", metavar="PATH", type=Path, help="where the table goes (one NAME only)"
    )
    options = parser.parse_args(arguments)
    if options.o and len(options.names) > 1:
        parser.error(f"-o takes one NAME, got {len(options.names)}")
    root, allowed, failures = Path(), options.substitutes == "allowed", 0
    for name in options.names:
        try:
            target = options.o or prepared_path(name, root=root, substitutes=allowed)
            _prepare(name, target, root=root, substitutes=allowed)
        except DataUnavailable as error:
            print(error, file=sys.stderr)
            failures += 1
    return int(failures > 0)
