"""Keep the records: `python -m workflow.archive [-o FILE] [--scale S] [--papers a,b]`, called by
`make archive`, and `python -m workflow.archive --unpack FILE`, called by `make unpack`.

Writes a zip of all finished records and a manifest with the sha256 of each; equal records give
equal bytes. Unpacked in a checkout, they lie where the workflow looks for them. `unpack` trusts no
archive: all of it is checked before one file is written, and no file that is there is changed.
"""

from __future__ import annotations

import argparse
import errno
import hashlib
import json
import os
import re
import stat
import sys
import tempfile
import zipfile
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from workflow.data.foreign import escaped, is_plain, shown
from workflow.data.places import DataUnavailable, writing
from workflow.plan.expand import chosen_papers
from workflow.trace import record
from workflow.trace.atomic import atomic
from workflow.trace.cells import PlanError

MANIFEST = "manifest.json"
NAME = r"[^\W_][^/\\:\s\x00-\x1f]*"  # of a folder; none begins with a dot
# scale, paper, problem, curve; or studies and one
RECORD = re.compile(rf"results/{NAME}/{NAME}/{NAME}/{NAME}/[0-9]+\.parquet")
EPOCH = (1980, 1, 1, 0, 0, 0)  # the first moment that a zip knows
SHOWN = 12  # refused records that a message names
# what reading a parquet file can raise that is none, or whose header says nonsense
NO_RECORD = (
    RuntimeError,  # BadRecord among them
    ArithmeticError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    pa.ArrowException,
)
LINKLESS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK)  # of a file system


class BadArchive(RuntimeError):
    """An archive that cannot be written or is not to be trusted: says what was expected, got, and
    what to do.
    """


@dataclass(frozen=True)
class Entry:
    """What the manifest says of a record; `sha256` and `bytes` are those of its file."""

    path: str
    sha256: str
    bytes: int
    trace_sha256: str
    digest: str


def record_paths(root: Path, *, scale: str = "", papers: Collection[str] = ()) -> list[Path]:
    """Every record below root/results, relative to root and in order; what lies beside records is
    not one.
    """
    found = [path.relative_to(root) for path in root.glob("results/*/*/*/*/*.parquet")]
    names = [(path, path.as_posix()) for path in found]
    records = [path for path, name in names if RECORD.fullmatch(name) and is_plain(name)]
    chosen = [
        path
        for path in records
        if scale in ("", path.parts[1]) and (not papers or path.parts[2] in papers)
    ]
    return sorted(chosen, key=Path.as_posix)


def write(
    target: Path, *, root: Path, scale: str = "", papers: Collection[str] = ()
) -> list[Entry]:
    """Archive all finished records below root/results.

    Raises BadArchive, DataUnavailable where `target` cannot be written.
    """
    entries, versions = _described(root, record_paths(root, scale=scale, papers=papers))
    if not entries:
        raise BadArchive(
            f"{root / 'results'}: expected finished records of what was asked for, got none: run"
            " the workflow first"
        )
    said = {
        "commit": record.provenance()["commit"],
        "versions": versions,
        "records": [asdict(entry) for entry in entries],
    }
    # A zip, stored: its directory shows every name and size before anything is read, the sizes are
    # those that it takes on disk, and the bytes depend on no version of a compressor. The columns
    # are compressed already; deflating would save a tenth.
    with (
        writing(target),
        atomic(target) as temporary,
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as archive,
    ):
        archive.writestr(_member(MANIFEST), json.dumps(said, indent=1, sort_keys=True) + "\n")
        for entry in entries:
            archive.writestr(_member(entry.path), _content(entry, root))
    return entries


def unpack(source: Path, target: Path) -> list[Entry]:
    """Extract the records of an archive below `target`: all are checked before one is written, and
    no file is changed. Returns the entries of those that were not there before.

    Raises BadArchive for a name or a link that could lead elsewhere, a name that hides what it is,
    sizes beyond the archive's own, what the manifest does not list or lists otherwise, what is no
    whole record, and where another file is in the place of a record.
    """
    try:
        with zipfile.ZipFile(source) as archive:
            entries = _trusted(archive, source)
            missing = [entry for entry in entries if not _is_there(entry, target)]
            for entry in missing:
                _put(archive.read(entry.path), entry, target)
    except OSError as error:
        raise BadArchive(
            f"{source}: expected an archive that can be unpacked to {target}, got {error}: name"
            " another, or a folder with room that we may write to"
        ) from None
    except (zipfile.BadZipFile, EOFError, NotImplementedError, UnicodeError) as error:
        raise BadArchive(
            f"{source}: expected an archive of records, got no whole zip"
            f" ({escaped(str(error))}): get the archive again"
        ) from None
    return missing


def _described(root: Path, paths: Iterable[Path]) -> tuple[list[Entry], dict[str, list[str]]]:
    """Entries of the finished records, and every version of a library that made them.

    Raises BadArchive naming the damaged.
    """
    entries: list[Entry] = []
    versions: dict[str, set[str]] = {}
    bad: list[str] = []
    for path in paths:
        try:
            header = record.read(root / path).header
        except record.BadRecord as error:
            bad.append(str(error))
            continue
        if header.get("status", "complete") in record.FINAL:
            content = (root / path).read_bytes()
            said = str(header["trace_sha256"]), str(header.get("digest", ""))
            entries.append(Entry(path.as_posix(), _sha256(content), len(content), *said))
            for name, version in _libraries(header).items():
                versions.setdefault(name, set()).add(version)
    if bad:
        more = [f"... and {len(bad) - SHOWN} more"] if len(bad) > SHOWN else []
        raise BadArchive(
            "\n  ".join(
                [f"{len(bad)} records are damaged, nothing was written:", *bad[:SHOWN], *more]
            )
        )
    return entries, {name: sorted(found) for name, found in sorted(versions.items())}


def _content(entry: Entry, root: Path) -> bytes:
    """The file that was described. Raises BadArchive where a run has replaced it since."""
    path = root / entry.path
    content = path.read_bytes() if path.exists() else b""
    if _sha256(content) != entry.sha256:
        raise BadArchive(
            f"{path}: expected the record that was verified, got another: a run has replaced it"
            " meanwhile; archive again"
        )
    return content


def _libraries(header: Mapping[str, Any]) -> dict[str, str]:
    """The versions that a record was made with; an initial design does not say."""
    made = header.get("provenance")
    return {"python": made["python"], **made["libraries"]} if made else {}


def _member(name: str) -> zipfile.ZipInfo:
    """A plain file that says nothing of when and by whom it was written."""
    info = zipfile.ZipInfo(name, EPOCH)
    info.create_system = 3  # Unix, wherever this runs
    info.external_attr = (stat.S_IFREG | 0o644) << 16
    return info


def _trusted(archive: zipfile.ZipFile, source: Path) -> list[Entry]:
    """The entries of an archive whose every record is what the manifest says.

    Raises BadArchive, BadZipFile.
    """
    try:
        members = _members(archive, source.stat().st_size)  # before anything is read
        entries = _listed(archive.read(MANIFEST), members)
        with tempfile.TemporaryDirectory(prefix="noregret-unpack-") as folder:
            for entry in entries:
                _check_content(archive.read(entry.path), entry, Path(folder, "read.parquet"))
    except BadArchive as error:
        raise BadArchive(
            f"{source}: refused: {error}: get the archive again from where it was made"
        ) from None
    return entries


def _members(archive: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    """The members of an archive of `size` bytes by name, judged by its directory alone.

    Raises BadArchive.
    """
    found = {info.orig_filename: info for info in archive.infolist()}
    for name, info in found.items():
        if name != MANIFEST and not RECORD.fullmatch(name):
            raise BadArchive(
                "expected results/SCALE/PAPER/PROBLEM/CURVE/SEED.parquet, got the name"
                f" {shown(name)}"
            )
        if not is_plain(name):
            raise BadArchive(
                "expected names in which every character can be seen and none turns the direction"
                f" of writing, got the name {shown(name)}"
            )
        if stat.S_IFMT(info.external_attr >> 16) not in (0, stat.S_IFREG):
            raise BadArchive(f"{name}: expected a plain file, got a link or something else")
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1:
            raise BadArchive(
                f"{name}: expected a file that is stored as it is, got a compressed or"
                " encrypted one"
            )
    declared = sum(info.file_size for info in archive.infolist())
    if declared > size:
        raise BadArchive(
            f"expected files of at most {size} bytes, as the archive is no larger, got"
            f" {declared} bytes in its directory"
        )
    if len(found) < len(archive.infolist()):
        raise BadArchive("expected every name once, got one twice")
    if MANIFEST not in found:
        raise BadArchive(f"expected a {MANIFEST}, got none")
    return found


def _listed(text: bytes, members: Mapping[str, zipfile.ZipInfo]) -> list[Entry]:
    """The entries of a manifest, which must be the members of its archive. Raises BadArchive."""
    try:
        entries = [Entry(**said) for said in json.loads(text)["records"]]
        sizes = {entry.path: entry.bytes for entry in entries}
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise BadArchive(
            f"{MANIFEST}: expected JSON with an entry for each record, got {shown(error)}"
        ) from None
    there = {name: info.file_size for name, info in members.items() if name != MANIFEST}
    if wrong := sorted(str(name) for name, _ in sizes.items() ^ there.items()):
        raise BadArchive(
            f"{MANIFEST}: expected exactly the records of the archive with their sizes, got another"
            f" {shown(wrong[0])}"
        )
    return entries


def _check_content(content: bytes, entry: Entry, place: Path) -> None:
    """Raise BadArchive unless a member is what the manifest says and a record that can be read;
    `place` is where it may lie while it is.
    """
    if (found := _sha256(content)) != entry.sha256:
        said = str(entry.sha256)[: len(found)]
        raise BadArchive(f"{entry.path}: expected sha256 {escaped(said)}, got {found}")
    place.write_bytes(content)
    try:
        header = record.read(place).header
    except NO_RECORD:
        raise BadArchive(f"{entry.path}: expected a whole record, got another file") from None
    if header["trace_sha256"] != entry.trace_sha256:
        raise BadArchive(
            f"{entry.path}: expected a record with trace {shown(entry.trace_sha256)}, got one with"
            f" {shown(header['trace_sha256'])}"
        )


def _is_there(entry: Entry, target: Path) -> bool:
    """Whether a record lies below `target` already, the same file.

    Raises BadArchive where its place is elsewhere or holds another file.
    """
    place = target / entry.path
    if not place.resolve().is_relative_to(target.resolve()):
        raise BadArchive(
            f"{place}: expected a place within {target}, got a link that leads out of it: unpack"
            " elsewhere"
        )
    if not os.path.lexists(place):
        return False
    if not place.is_file() or _sha256(place.read_bytes()) != entry.sha256:
        raise BadArchive(
            f"{place}: expected no other file in its place, got one: move it away or unpack"
            " elsewhere"
        )
    return True


def _put(content: bytes, entry: Entry, target: Path) -> None:
    """Write a record where no file is; one that has come meanwhile is left, as ever."""
    if _sha256(content) != entry.sha256:
        raise BadArchive(
            f"{entry.path}: expected what was checked, got another: the archive was changed"
            " meanwhile; unpack it again"
        )
    place = target / entry.path
    place.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}.", suffix=".part")
    temporary = Path(name)
    try:
        with open(handle, "wb") as file:  # noqa: PTH123, the file that was made
            file.write(content)
            file.flush()
            os.fsync(handle)
        temporary.chmod(0o644)  # as all records
        try:
            os.link(temporary, place)  # unlike a rename, never over another file
        except OSError as error:
            if error.errno not in (errno.EEXIST, *LINKLESS):
                raise
            if not _is_there(entry, target):
                temporary.replace(place)
    finally:
        temporary.unlink(missing_ok=True)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m workflow.archive",
        description="Archive all finished records, or unpack an archive of them here.",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="default: noregret-SCALE.zip, or noregret-all.zip",
    )
    parser.add_argument("--scale", default="", help="default: all scales")
    parser.add_argument("--papers", default="", help="some papers, with commas; default: all")
    parser.add_argument(
        "--unpack",
        type=Path,
        metavar="FILE",
        help=(
            "check an archive and put its records into results/ of this folder, never over others"
        ),
    )
    options = parser.parse_args(arguments)
    if options.unpack and (options.output or options.scale or options.papers):
        parser.error("--unpack takes the whole archive: leave out -o, --scale and --papers")
    try:
        said = _unpacked(options.unpack) if options.unpack else _written(options)
    except (PlanError, BadArchive, DataUnavailable) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(said, file=sys.stderr)
    return 0


def _written(options: argparse.Namespace) -> str:
    target = options.output or Path(f"noregret-{options.scale or 'all'}.zip")
    papers = chosen_papers(options.papers) if options.papers else []
    entries = write(target, root=Path(), scale=options.scale, papers=papers)
    return f"wrote {target}: {len(entries)} records, {target.stat().st_size / 1e6:.1f} MB"


def _unpacked(source: Path) -> str:
    entries = unpack(source, Path())
    return f"unpacked {source} to results/: {len(entries)} new records"
