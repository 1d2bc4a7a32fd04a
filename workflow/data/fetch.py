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
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from workflow.data.download import download
from workflow.data.extract import copy, unpack
from workflow.data.manifest import Dataset, File, Source, read_manifest
from workflow.data.partial import ANY, Rejected, file_sha256, say, verify, writing
from workflow.data.places import (
    UNVERIFIED,
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


def _prepare(
    name: str, target: Path, *, root: Path, substitutes: bool, unverified: bool = False
) -> None:
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
    prepared = _table(dataset, root, tried, unverified) or _without_file(
        dataset, root, tried, substitutes
    )
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
    said = str(header["data"])
    wanted = {
        "name": dataset.name,
        "data": said if said.startswith(UNVERIFIED) else "real",
        "content_sha256": dataset.content_sha256 or header.get("content_sha256"),
    }
    if other := [key for key, value in wanted.items() if header.get(key) != value]:
        say(
            f"{dataset.name}: {path} is not used: expected {other[0]} {wanted[other[0]]}, got"
            f" {header.get(other[0])}"
        )
    return not other


def _table(dataset: Dataset, root: Path, tried: list[str], unverified: bool) -> Prepared | None:
    """The table in the first file that is the right one; None if nobody has it, and why in `tried`.

    A file is the right one if its table has the content of the manifest; where the manifest states
    none, if it has the checksum of the manifest, or any where `unverified` files are admitted.

    Raises DataUnavailable if a file of the right checksum cannot be parsed.
    """
    doors = [one for file in dataset.mirror for one in _local(root, file)]
    doors += [_remote(source, dataset.file(source)) for source in dataset.sources]
    for door in doors:
        path = root / "data" / "raw" / door.file.path
        is_open = unverified or dataset.content_sha256
        try:
            door.bring(
                path, {ANY if is_open else door.file.sha256: 0 if unverified else door.file.bytes}
            )
            prepared = _recognised(dataset, door.file, path, unverified)
        except Rejected as reason:
            _refuse(dataset.name, door, path, reason, tried)
            continue
        _keep_source(path, door)
        return replace(prepared, source=door.source or _source_of(path))
    return None


def _recognised(dataset: Dataset, wanted: File, path: Path, unverified: bool) -> Prepared:
    """The table in a file; its label says if neither content nor checksum is the manifest's.

    Raises Rejected if the file is another one; DataUnavailable as `_table`.
    """
    try:
        parse = importlib.import_module(FORMATS[dataset.format]).parse
        prepared: Prepared = parse(dataset, path)
    except DataUnavailable as error:
        if (found := file_sha256(path)) == wanted.sha256:
            raise
        expected = (
            f"sha256 {wanted.sha256} ({wanted.bytes} bytes)" if wanted.sha256 else "the table"
        )
        got = f"sha256 {found} ({path.stat().st_size} bytes)"
        raise Rejected(f"expected {expected}, got {got}, which is another one: {error}") from None
    if unverified and not dataset.content_sha256 and (found := file_sha256(path)) != wanted.sha256:
        return replace(prepared, data=f"{UNVERIFIED}{path.name} of sha256 {found}")
    return replace(prepared, data="real")


def _refuse(name: str, door: Door, path: Path, reason: Rejected, tried: list[str]) -> None:
    """Take away what was brought in vain, set aside what a person put there, and say why."""
    said = str(reason)
    if path.exists() and door.source:
        with writing(path):
            path.unlink(missing_ok=True)
    elif path.exists():
        aside = path.with_name(f"{path.name}.{file_sha256(path)[:8]}.corrupt")
        with writing(aside), suppress(FileNotFoundError):  # another process may have done it
            path.replace(aside)
        said += f"; set aside as {aside.name}"
    tried.append(f"{door.label}: {said}{'' if reason.usual else door.remedy}")
    if not reason.usual:
        say(f"{name}: {tried[-1]}")


def _keep_source(path: Path, door: Door) -> None:
    if door.source:
        with writing(path), atomic(_source_file(path)) as temporary:
            temporary.write_text(f"{door.source}\n", encoding="utf-8")


def _without_file(dataset: Dataset, root: Path, tried: list[str], substitutes: bool) -> Prepared:
    """What scikit-learn ships or a maker makes.

    Raises DataUnavailable where substitutes are refused.
    """
    if (
        not substitutes and not dataset.content_sha256
    ):  # nothing made here could turn out to be the real table
        raise DataUnavailable(_directions(dataset, root, tried))
    made: Prepared = importlib.import_module(FORMATS[dataset.format]).substitute(
        dataset, _calibration(dataset, root)
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


def _calibration(dataset: Dataset, root: Path) -> Path | None:
    """The verified file that shapes a substitute; None if it is not on this machine or its
    mirror.
    """
    for door in _local(root, dataset.calibration) if dataset.calibration else ():
        path, accepted = root / "data" / "raw" / door.file.path, {door.file.sha256: door.file.bytes}
        try:
            door.bring(path, accepted)
            verify(path, accepted)
        except Rejected as reason:
            _refuse(dataset.name, door, path, reason, [])
            continue
        _keep_source(path, door)
        return path
    return None


@dataclass(frozen=True)
class Door:
    """Where a raw file may be: for people, for the provenance (empty: already kept), how to bring
    the file to a path, and what helps if it is not the right one.
    """

    label: str
    source: str
    file: File
    bring: Callable[[Path, Mapping[str, int]], None]
    remedy: str = ""


def _local(root: Path, file: File) -> Iterator[Door]:
    """Where a file may be that no canonical source gives."""
    yield Door(str(root / "data" / "raw" / file.path), "", file, _raw)
    shipped = root / "data" / "shipped" / file.path
    remedy = f"; `git checkout {shipped}` restores it"
    yield Door(str(shipped), "data/shipped", file, partial(_from_shipped, shipped), remedy)
    mirror = os.environ.get("NOREGRET_DATA", "")
    label = f"NOREGRET_DATA={mirror_as_shown()}, {file.path}" if mirror else "NOREGRET_DATA"
    yield Door(label, "mirror", file, partial(_from_mirror, mirror, file))


def _remote(source: Source, file: File) -> Door:
    return Door(source.url, source.url, file, partial(_from_url, source))


def _raw(path: Path, accepted: Mapping[str, int]) -> None:
    if not path.exists():
        raise Rejected("not there", usual=True)
    verify(path, accepted)


def _from_shipped(shipped: Path, path: Path, accepted: Mapping[str, int]) -> None:
    if not shipped.exists():
        raise Rejected("not there", usual=True)
    try:
        with shipped.open("rb") as file:
            copy(file, path, accepted)
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
        return download(source.url, path, accepted)
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        folder = tempfile.TemporaryDirectory(dir=path.parent, prefix=".archive-")
    with folder:
        archive = Path(folder.name) / "archive"
        download(source.url, archive, {ANY: 0})
        unpack(archive, source.member, path, accepted)
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
    files = dataset.mirror
    path = " or ".join(file.path for file in files)
    parts = [root / "data" / "raw" / f"{file.path}.part" for file in files]
    kept = [
        f"{part} keeps the {part.stat().st_size} bytes that came: another try goes on there."
        for part in parts
        if part.exists()
    ]
    if not dataset.content_sha256:
        kept.append(
            f"`python -m workflow.fetch {dataset.name} --accept-unverified` takes a file of another"
            " checksum, if it can be read; its records say so."
        )
    return "\n".join(
        [
            f"{dataset.name}: no verified copy of {path} could be had. Tried:",
            *(f"  {line}" for line in tried),
            *(
                f"Expected of {file.path}: sha256 {file.sha256}, {file.bytes} bytes."
                for file in files
                if file.sha256
            ),
            *kept,
            f"To supply it, set NOREGRET_DATA to a directory (or URL of one) that contains {path},",
            f"or put the file at data/raw/{files[0].path}.",
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
    real = not prepared.data.startswith("substitute: ")
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
    parser.add_argument(
        "--accept-unverified",
        action="store_true",
        help=(
            "take a file whose checksum is not the manifest's, if that one is only quoted and the"
            " file can be read; the table and all that is made of it say so"
        ),
    )
    options = parser.parse_args(arguments)
    if options.o and len(options.names) > 1:
        parser.error(f"-o takes one NAME, got {len(options.names)}")
    root, allowed, failures = Path(), options.substitutes == "allowed", 0
    for name in options.names:
        try:
            target = options.o or prepared_path(name, root=root, substitutes=allowed)
            _prepare(
                name,
                target,
                root=root,
                substitutes=allowed,
                unverified=options.accept_unverified,
            )
        except DataUnavailable as error:
            print(error, file=sys.stderr)
            failures += 1
    return int(failures > 0)
