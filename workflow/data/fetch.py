"""Data: a verified raw file, one that ships with the repository, the mirror NOREGRET_DATA or a
canonical URL -> data/prepared/<name>.parquet.

data/manifest.yaml says what every file must be. A table that cannot be had is an error with
directions, or, where substitutes are allowed, a labelled substitute in
data/prepared/or-substitute/. NOREGRET_SUBSTITUTES=preferred: no server is asked, and what is not on
this machine is substituted.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from workflow.data.manifest import Dataset, File, read_manifest
from workflow.data.places import (
    SUBSTITUTE,
    UNVERIFIED,
    DataUnavailable,
    Prepared,
    downloads_allowed,
    is_substitute,
    prepared_path,
    without_credentials,
    writing,
)
from workflow.data.raw_file import Rejected, copy, file_sha256, say, unpack, verify
from workflow.trace.record import KEY, atomic

AGAIN = "remove it and run the workflow again, which fetches it anew"


def prepare(
    name: str,
    *,
    root: Path,
    substitutes: bool,
    output: Path | None = None,
    unverified: bool = False,
    download: bool = True,
) -> Path:
    """Write the prepared table of a data set to `output`, or to its place below root/data, and
    return where it is; without `download` from a file of this machine or of a mirror.

    Raises DataUnavailable.
    """
    target = output or prepared_path(name, root=root, substitutes=substitutes)
    known = read_manifest(root)
    if name not in known:
        raise DataUnavailable(
            f"expected a data set of data/manifest.yaml ({', '.join(known)}), got {name!r}"
        )
    dataset = known[name]
    real = prepared_path(name, root=root, substitutes=False)
    if substitutes and real.exists() and _is_real(real, dataset, root):
        with writing(target), atomic(target) as temporary:
            shutil.copyfile(real, temporary)
        say(f"{name}: real (a copy of {real}) -> {target}")
        return target
    tried: list[str] = []
    prepared = _table(dataset, root, tried, unverified, download)
    if prepared is None and not substitutes:
        raise DataUnavailable(_directions(dataset, root, tried))
    if prepared is None:
        made: Prepared = dataset.module.substitute(dataset)
        prepared = replace(made, data=f"{SUBSTITUTE}{dataset.substitute.says}")
    _write(prepared, dataset, target)
    say(f"{name}: {prepared.data} ({prepared.source}) -> {target}")
    return target


def provenance(path: Path) -> dict[str, str | dict[str, str]]:
    """What a prepared file says about itself: name, data, content_sha256, source, licence,
    citation, features. Raises DataUnavailable.
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
    header, known = provenance(path), read_manifest(root)
    if (name := str(header["name"])) not in known:
        raise DataUnavailable(
            f"{path}: expected a data set of data/manifest.yaml, got {name!r}: {AGAIN}"
        )
    try:
        table = pq.read_table(path, page_checksum_verification=True)
        content = known[name].module.content_sha256(table)
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError) as error:
        raise DataUnavailable(
            f"{path}: expected a prepared table, cannot read it ({error}): {AGAIN}"
        ) from None
    if content != header["content_sha256"]:
        raise DataUnavailable(
            f"{path}: expected content_sha256 {header['content_sha256']} as it says, got {content}:"
            f" it was changed; {AGAIN}"
        )


def _is_real(path: Path, dataset: Dataset, root: Path) -> bool:
    """Whether a table that was prepared before is whole and the one of the manifest; if not, says
    so.
    """
    try:
        header = provenance(path)
        check_table(path, root=root)
        if header["name"] != dataset.name or is_substitute(str(header["data"])):
            raise DataUnavailable(f"expected {dataset.name}, got {header['data']}")
        if dataset.content_sha256 not in ("", header["content_sha256"]):
            raise DataUnavailable(f"expected content_sha256 {dataset.content_sha256}")
    except DataUnavailable as error:
        say(f"{dataset.name}: {path} is not used: {error}")
        return False
    return True


def _table(
    dataset: Dataset, root: Path, tried: list[str], unverified: bool, download: bool
) -> Prepared | None:
    """The table in the first file that is the right one; None if nobody has it, and why in `tried`.

    A file is the right one if its table has the content of the manifest. If the manifest states
    none, the checksum decides; where `unverified` files are admitted, any that can be read will do.

    Raises DataUnavailable if a file of the right checksum cannot be parsed.
    """
    origins = [one for file in dataset.mirror for one in _local(root, file)]
    origins += [
        Origin(source.url, dataset.file(source), source.url, source.member)
        for source in dataset.sources * download
    ]
    for origin in origins:
        wanted = origin.file
        if unverified:
            wanted = File(path=wanted.path)
        elif dataset.content_sha256:
            wanted = File(path=wanted.path, bytes=wanted.bytes)
        path = root / "data" / "raw" / wanted.path
        try:
            _bring(origin, path, wanted)
            prepared = _parsed(dataset, origin.file, path, unverified)
        except Rejected as reason:
            tried.append(_refused(dataset.name, origin, path, reason))
        else:
            return replace(prepared, source=_source(origin, path))
    return None


def _parsed(dataset: Dataset, wanted: File, path: Path, unverified: bool) -> Prepared:
    """The table in a file; its label says if neither content nor checksum is the manifest's.

    Raises Rejected if the file is another one; DataUnavailable as `_table`.
    """
    try:
        prepared: Prepared = dataset.module.parse(dataset, path)
    except DataUnavailable as error:
        if (sha256 := file_sha256(path)) == wanted.sha256:
            raise
        raise Rejected(
            f"expected sha256 {wanted.sha256 or 'of any file with the table'} ({wanted.bytes}"
            f" bytes), got sha256 {sha256} ({path.stat().st_size} bytes), which is another one:"
            f" {error}"
        ) from None
    if unverified and not dataset.content_sha256 and (sha256 := file_sha256(path)) != wanted.sha256:
        return replace(prepared, data=f"{UNVERIFIED}{path.name} of sha256 {sha256}")
    return replace(prepared, data="real")


def _refused(name: str, origin: Origin, path: Path, reason: Rejected) -> str:
    """Take away what was brought in vain, set aside what a person put there, and say why."""
    said = f"{without_credentials(origin.address)}: {reason}"
    if origin.source == "data/shipped":
        said += f"; `git checkout {origin.address}` restores it"
    if path.exists() and origin.source:
        with writing(path):
            path.unlink(missing_ok=True)
    elif path.exists():
        aside = path.with_name(f"{path.name}.{file_sha256(path)[:8]}.corrupt")
        with writing(aside), suppress(FileNotFoundError):  # another process may have done it
            path.replace(aside)
        said += f"; set aside as {aside.name}"
    say(f"{name}: {said}")
    return said


def _source(origin: Origin, path: Path) -> str:
    """Where a raw file came from: kept beside it, for the next time."""
    note = path.with_name(f"{path.name}.source")
    if origin.source:
        with writing(path), atomic(note) as temporary:
            temporary.write_text(f"{origin.source}\n", encoding="utf-8")
    elif not note.is_file():
        return "data/raw, put there by hand"
    return note.read_text(encoding="utf-8").strip()


@dataclass(frozen=True)
class Origin:
    """Where a raw file may be: the path or URL of the file, or of an archive whose `member` it is;
    `source` is what the provenance says of it (empty: that is kept beside the file).
    """

    address: str
    file: File
    source: str = ""
    member: str = ""


def _local(root: Path, file: File) -> Iterator[Origin]:
    """Where a file may be that no canonical source gives."""
    raw, shipped = (root / "data" / folder / file.path for folder in ("raw", "shipped"))
    if raw.exists():
        yield Origin(str(raw), file)
    if shipped.exists():
        yield Origin(str(shipped), file, "data/shipped")
    if mirror := os.environ.get("NOREGRET_DATA", ""):
        yield Origin(f"{mirror.rstrip('/')}/{file.path}", file, "mirror")


def _bring(origin: Origin, path: Path, wanted: File) -> None:
    """Verify the file at `path`, or copy or download it to there. Raises Rejected."""
    scheme = origin.address.partition("://")[0] if "://" in origin.address else ""
    if scheme in ("http", "https"):
        return _download(origin, path, wanted)
    if scheme not in ("", "file"):
        raise Rejected(f"expected a directory or a http, https or file URL, got {scheme}://")
    address = origin.address
    if scheme:
        address = urllib.request.url2pathname(urllib.parse.urlsplit(address).path)
    place = Path(address).expanduser()
    if place == path:
        return verify(path, wanted)
    try:
        with place.open("rb") as file:
            return copy(file, path, wanted)
    except OSError as error:
        raise Rejected(error.strerror or str(error)) from None


def _download(origin: Origin, path: Path, wanted: File) -> None:
    """Raises Rejected, also where no server may be asked."""
    if not downloads_allowed():
        raise Rejected("not asked, since NOREGRET_SUBSTITUTES=preferred")
    from workflow.data.download import download  # elsewhere the word says whether to

    if not origin.member:
        return download(origin.address, path, wanted)
    with tempfile.TemporaryDirectory(prefix="noregret-") as folder:
        archive = Path(folder) / "archive"
        download(origin.address, archive, File(path="archive"))
        return unpack(archive, origin.member, path, wanted)


def _directions(dataset: Dataset, root: Path, tried: list[str]) -> str:
    """What to say of a table that cannot be had."""
    fetch = f"`python -m workflow.fetch {dataset.name}"
    paths = [file.path for file in dataset.mirror]
    lines = [f"{dataset.name}: no verified copy of {' or '.join(paths)} could be had. Tried:"]
    lines += [f"  {line}" for line in tried]
    for file in dataset.mirror:
        if file.sha256:
            lines.append(f"Expected of {file.path}: sha256 {file.sha256}, {file.bytes} bytes.")
        part = root / "data" / "raw" / f"{file.path}.part"
        if part.exists():
            lines.append(f"{part} keeps what came: another try goes on there.")
    if not dataset.content_sha256:
        lines.append(
            f"{fetch} --accept-unverified` takes a file of another checksum, if it can be read; its"
            " records say so."
        )
    lines += [
        "To supply it, set NOREGRET_DATA to a directory (or URL of one) that contains"
        f" {' or '.join(paths)},",
        f"or put the file at data/raw/{paths[0]}.",
        "Without it, scale smoke runs on a labelled substitute;"
        " NOREGRET_SUBSTITUTES=allowed does so at paper scale, and its claims about values are not"
        " decided.",
        "NOREGRET_SUBSTITUTES=preferred does so at every scale and downloads nothing.",
        f"{fetch} --substitutes allowed` makes that substitute now.",
    ]
    return "\n".join(lines)


def _write(prepared: Prepared, dataset: Dataset, path: Path) -> None:
    """Write the prepared table, with the provenance in the schema."""
    real = not is_substitute(prepared.data)
    other = f"not that of {dataset.name}: see source"
    header = {
        "name": dataset.name,
        "data": prepared.data,
        "content_sha256": prepared.content_sha256,
        "source": prepared.source,
        "licence": dataset.licence if real else other,
        "citation": dataset.citation if real else other,
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
        help="what to do where a table cannot be had (default: %(default)s); allowed, it goes to"
        " data/prepared/or-substitute/",
    )
    parser.add_argument(
        "-o", metavar="PATH", type=Path, help="where the table goes (one NAME only)"
    )
    parser.add_argument(
        "--accept-unverified",
        action="store_true",
        help="take a file whose checksum is not the manifest's, if that one is only quoted and the"
        " file can be read; the table and all that is made of it say so",
    )
    options = parser.parse_args(arguments)
    if options.o and len(options.names) > 1:
        parser.error(f"-o takes one NAME, got {len(options.names)}")
    root, allowed, failures = Path(), options.substitutes == "allowed", 0
    for name in options.names:
        try:
            prepare(
                name,
                root=root,
                substitutes=allowed,
                output=options.o,
                unverified=options.accept_unverified,
            )
        except DataUnavailable as error:
            print(error, file=sys.stderr)
            failures += 1
    return int(failures > 0)
