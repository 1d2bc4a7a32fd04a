"""Keep the records: `python -m workflow.archive [-o FILE] [--scale S] [--papers a,b]`, called by
`make archive`, and `python -m workflow.archive --unpack FILE`, called by `make unpack`.

Writes a zip of all finished records; equal records give equal bytes. Each record holds the hashes
of its rows and its header. Unpacked in a checkout, records lie where the workflow looks for them.
`unpack` trusts no archive: all of it is checked before one file is written, and no file that is
there is changed.
"""

from __future__ import annotations

import argparse
import errno
import hashlib
import os
import re
import stat
import sys
import tempfile
import zipfile
from collections.abc import Collection
from pathlib import Path

import pyarrow as pa

from workflow.data.foreign import escaped, is_plain, shown
from workflow.data.places import DataUnavailable, writing
from workflow.plan.expand import chosen_papers
from workflow.trace import record
from workflow.trace.atomic import atomic
from workflow.trace.cells import PlanError

MANIFEST = "manifest.json"  # older archives have this member; records say the same themselves
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


def write(target: Path, *, root: Path, scale: str = "", papers: Collection[str] = ()) -> list[str]:
    """Archive all finished records below root/results; returns their names.

    Raises BadArchive naming damaged records, DataUnavailable where `target` cannot be written.
    """
    names: list[str] = []
    bad: list[str] = []
    # A zip, stored: its directory shows every name and size before anything is read, the sizes are
    # those that it takes on disk, and the bytes depend on no version of a compressor. The columns
    # are compressed already; deflating would save a tenth.
    with (
        writing(target),
        atomic(target) as temporary,
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as archive,
    ):
        for path in record_paths(root, scale=scale, papers=papers):
            try:
                header = record.read(root / path).header
            except record.BadRecord as error:
                bad.append(str(error))
                continue
            if header.get("status", "complete") in record.FINAL:
                archive.writestr(_member(path.as_posix()), (root / path).read_bytes())
                names.append(path.as_posix())
        if bad:
            more = [f"... and {len(bad) - SHOWN} more"] * (len(bad) > SHOWN)
            lines = [f"{len(bad)} records are damaged, nothing was written:", *bad[:SHOWN], *more]
            raise BadArchive("\n  ".join(lines))
        if not names:
            raise BadArchive(
                f"{root / 'results'}: expected finished records of what was asked for, got none:"
                " run the workflow first"
            )
    return names


def unpack(source: Path, target: Path) -> list[str]:
    """Extract the records of an archive below `target`: all are checked before one is written, and
    no file is changed. Returns the names of those that were not there before.

    Raises BadArchive for a name or a link that could lead elsewhere, a name that hides what it is,
    sizes beyond the archive's own, what is no whole record, and where another file is in the place
    of a record.
    """
    try:
        with zipfile.ZipFile(source) as archive:
            hashes = _trusted(archive, source)
            missing = [name for name in hashes if not _is_there(hashes[name], target, name)]
            for name in missing:
                content = archive.read(name)
                if _sha256(content) != hashes[name]:
                    raise BadArchive(
                        f"{name}: expected what was checked, got another: the archive was changed"
                        " meanwhile; unpack it again"
                    )
                _put(content, target, name)
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


def _member(name: str) -> zipfile.ZipInfo:
    """A plain file that says nothing of when and by whom it was written."""
    info = zipfile.ZipInfo(name, EPOCH)
    info.create_system = 3  # Unix, wherever this runs
    info.external_attr = (stat.S_IFREG | 0o644) << 16
    return info


def _trusted(archive: zipfile.ZipFile, source: Path) -> dict[str, str]:
    """The sha256 of every member of an archive by its name, each a whole record.

    Raises BadArchive, BadZipFile.
    """
    found = {}
    try:
        names = _names(archive, source.stat().st_size)  # before anything is read
        with tempfile.TemporaryDirectory(prefix="noregret-unpack-") as folder:
            for name in names:
                content, place = archive.read(name), Path(folder, "read.parquet")
                place.write_bytes(content)
                try:
                    record.read(place)
                except NO_RECORD:
                    raise BadArchive(f"{name}: expected a whole record, got another file") from None
                found[name] = _sha256(content)
    except BadArchive as error:
        raise BadArchive(
            f"{source}: refused: {error}: get the archive again from where it was made"
        ) from None
    return found


def _names(archive: zipfile.ZipFile, size: int) -> list[str]:
    """The names of the records in an archive of `size` bytes, judged by its directory alone.

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
    return [name for name in found if name != MANIFEST]


def _is_there(sha256: str, target: Path, name: str) -> bool:
    """Whether a record lies below `target` already, the same file.

    Raises BadArchive where its place is elsewhere or holds another file.
    """
    place = target / name
    if not place.resolve().is_relative_to(target.resolve()):
        raise BadArchive(
            f"{place}: expected a place within {target}, got a link that leads out of it: unpack"
            " elsewhere"
        )
    if not os.path.lexists(place):
        return False
    if not place.is_file() or _sha256(place.read_bytes()) != sha256:
        raise BadArchive(
            f"{place}: expected no other file in its place, got one: move it away or unpack"
            " elsewhere"
        )
    return True


def _put(content: bytes, target: Path, name: str) -> None:
    """Write a record where no file is; one that has come meanwhile is left, as ever."""
    place = target / name
    place.parent.mkdir(parents=True, exist_ok=True)
    handle, part = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}.", suffix=".part")
    temporary = Path(part)
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
            if not _is_there(_sha256(content), target, name):
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
        if options.unpack:
            made = unpack(options.unpack, Path())
            said = f"unpacked {options.unpack} to results/: {len(made)} new records"
        else:
            target = options.output or Path(f"noregret-{options.scale or 'all'}.zip")
            papers = chosen_papers(options.papers) if options.papers else []
            made = write(target, root=Path(), scale=options.scale, papers=papers)
            said = f"wrote {target}: {len(made)} records, {target.stat().st_size / 1e6:.1f} MB"
    except (PlanError, BadArchive, DataUnavailable) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(said, file=sys.stderr)
    return 0
