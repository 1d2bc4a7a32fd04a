"""Data: a verified raw file, the mirror NOREGRET_DATA or a canonical URL -> data/prepared/<name>.parquet.

data/manifest.yaml says what every file must be. A table that cannot be had is an error with directions, or, where
substitutes are allowed, a labelled substitute in data/prepared/or-substitute/.
"""

from __future__ import annotations

import argparse
import hashlib
import http.client
import io
import json
import os
import queue
import socket
import sys
import tarfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from numpy.typing import NDArray

from workflow import seeds
from workflow.record import KEY, atomic

WAITS = (0.3, 0.6)  # seconds before the second and third attempt
CONNECT = 2.5  # seconds for name look-up and connection: without a network the substitute must come soon
TIMEOUT, DEADLINE = 20.0, 300.0  # seconds of silence, seconds for one whole download
Array = NDArray[np.float64]


class DataUnavailable(RuntimeError):
    """A data set that cannot be had or written; says what was tried and what to do."""


class Rejected(Exception):
    """What one source gave instead of the file; `transient` if asking again may help, `usual` if it is no news."""

    def __init__(self, reason: str, *, transient: bool = False, usual: bool = False) -> None:
        super().__init__(reason)
        self.transient, self.usual = transient, usual


@dataclass(frozen=True)
class File:
    """A path below a mirror, and what must lie there."""

    path: str
    sha256: str
    bytes: int


@dataclass(frozen=True)
class Source:
    """A canonical URL of the raw file, or of the archive whose `member` it is; bytes 0 where the size is not known."""

    url: str
    sha256: str
    stated_by: str
    bytes: int = 0
    verified: bool = False
    member: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Substitute:
    """Which maker fills in, how it is labelled, and the numbers that shape it."""

    made_by: str
    says: str
    shape: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Dataset:
    """One entry of the manifest, whose head explains the fields."""

    name: str
    title: str
    licence: str
    citation: str
    mirror: File
    sources: tuple[Source, ...]
    rows: int
    separator: str
    columns: Mapping[str, str]
    target: str
    content_sha256: str
    substitute: Substitute
    also_at: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    missing: str = "?"
    codes: Mapping[str, Mapping[str, float]] = field(default_factory=dict)

    @property
    def features(self) -> dict[str, str]:
        """Name and unit of the features, in the order of the raw file."""
        return {name: unit for name, unit in self.columns.items() if name not in (self.target, *self.ignored)}

    @property
    def accepted(self) -> dict[str, int]:
        """sha256 and size of every version of the raw file; they differ in a last newline, never in content."""
        direct = {source.sha256: source.bytes for source in self.sources if not source.member}
        return {self.mirror.sha256: self.mirror.bytes, **direct}


@dataclass(frozen=True)
class Table:
    """Features and, last, the target (n, d+1); names and units of the features; where it came from."""

    values: Array
    features: Mapping[str, str]
    source: str
    data: str = "real"

    @property
    def content_sha256(self) -> str:
        """sha256 of "feature,...,feature,target", a newline, and the rows as little-endian float64."""
        head = ",".join([*self.features, "target"]) + "\n"
        return hashlib.sha256(head.encode() + np.ascontiguousarray(self.values, dtype="<f8").tobytes()).hexdigest()


def prepare(name: str, *, root: Path, substitutes: bool) -> Path:
    """Write the prepared table of a data set below root/data and return its path. Raises DataUnavailable."""
    target = prepared_path(name, root=root, substitutes=substitutes)
    _prepare(name, target, root=root, substitutes=substitutes)
    return target


def prepared_path(name: str, *, root: Path, substitutes: bool) -> Path:
    """Where the prepared table lies: what may be a substitute never takes the place of the real one."""
    return root / "data" / "prepared" / ("or-substitute" if substitutes else "") / f"{name}.parquet"


def substitutes_allowed(scale: str) -> bool:
    """Whether a run at this scale may be made of a labelled substitute: at paper scale only if it is asked for."""
    return scale != "paper" or os.environ.get("NOREGRET_SUBSTITUTES", "") == "allowed"


def provenance(path: Path) -> dict[str, str | dict[str, str]]:
    """What a prepared file says about itself: name, data, content_sha256, source, licence, citation, features."""
    try:
        metadata = pq.read_schema(path).metadata or {}
    except (pa.ArrowInvalid, OSError) as error:
        raise DataUnavailable(f"{path}: expected a prepared table, cannot read it ({error}): fetch it again") from None
    if KEY not in metadata:
        raise DataUnavailable(f"{path}: expected a table prepared by workflow.fetch, got a foreign parquet file")
    header: dict[str, str | dict[str, str]] = json.loads(metadata[KEY])
    return header


def read_manifest(root: Path) -> dict[str, Dataset]:
    """The data sets of root/data/manifest.yaml by name."""
    path = root / "data" / "manifest.yaml"
    try:
        entries = yaml.safe_load(path.read_text())
    except OSError as error:
        raise DataUnavailable(f"{path}: no manifest ({error.strerror}): run from the repository root") from None
    datasets = {}
    for name, entry in entries.items():
        sources = tuple(Source(**source) for source in entry.pop("sources"))
        mirror, substitute = File(**entry.pop("mirror")), Substitute(**entry.pop("substitute"))
        datasets[name] = Dataset(name=name, mirror=mirror, sources=sources, substitute=substitute, **entry)
    return datasets


def _prepare(name: str, target: Path, *, root: Path, substitutes: bool) -> None:
    known = read_manifest(root)
    if name not in known:
        raise DataUnavailable(f"expected a data set of data/manifest.yaml ({', '.join(known)}), got {name!r}")
    dataset = known[name]
    tried: list[str] = []
    raw = _find(dataset, root, tried)
    table = _parse(dataset, *raw) if raw else _without_file(dataset, tried, substitutes)
    _write(table, dataset, target)
    _say(f"{name}: {table.data} ({table.source}) -> {target}")


def _find(dataset: Dataset, root: Path, tried: list[str]) -> tuple[bytes, str] | None:
    """The verified raw bytes, now in data/raw, and their source; None if nobody has them, and why in `tried`."""
    path = root / "data" / "raw" / dataset.mirror.path
    for where, source, look in _doors(dataset, path):
        try:
            content = look()
        except Rejected as reason:
            tried.append(f"{where}: {reason}")
            if not reason.usual:
                _say(f"{dataset.name}: {tried[-1]}")
            continue
        if source:
            _keep(path, content, source)
        return content, source or _source_of(path)
    return None


def _doors(dataset: Dataset, path: Path) -> Iterator[tuple[str, str, Callable[[], bytes]]]:
    """Where the raw file may be, in order: for people, for the provenance (empty: already kept), how to look."""
    yield str(path), "", partial(_raw, path, dataset.accepted)
    mirror = os.environ.get("NOREGRET_DATA", "")
    label = f"NOREGRET_DATA={mirror}, {dataset.mirror.path}" if mirror else "NOREGRET_DATA"
    yield label, "mirror", partial(_from_mirror, mirror, dataset)
    for source in dataset.sources:
        label = source.url if source.verified else f"{source.url} (checksum not verified by us)"
        yield label, source.url, partial(_from_url, source)


def _raw(path: Path, accepted: Mapping[str, int]) -> bytes:
    if not path.exists():
        raise Rejected("not there", usual=True)
    content = _read(path)
    try:
        return _verified(content, accepted)
    except Rejected as reason:
        aside = path.with_name(f"{path.name}.{_sha256(content)[:8]}.corrupt")
        with _writing(aside), suppress(FileNotFoundError):  # another process may have done it
            path.replace(aside)
        raise Rejected(f"{reason}; set aside as {aside.name}") from None


def _from_mirror(mirror: str, dataset: Dataset) -> bytes:
    if not mirror:
        raise Rejected("not set", usual=True)
    scheme = mirror.partition("://")[0] if "://" in mirror else ""
    if scheme in ("http", "https"):
        return _download(f"{mirror.rstrip('/')}/{dataset.mirror.path}", dataset.accepted)
    if scheme not in ("", "file"):
        raise Rejected(f"expected a directory or a http, https or file URL, got {scheme}://")
    folder = Path(urllib.request.url2pathname(urllib.parse.urlsplit(mirror).path) if scheme else mirror).expanduser()
    if not folder.is_dir():
        raise Rejected("no such directory")
    return _verified(_read(folder / dataset.mirror.path), dataset.accepted)


def _from_url(source: Source) -> bytes:
    content = _download(source.url, {source.sha256: source.bytes})
    if not source.member:
        return content
    return _verified(_unpacked(content, source.member["path"]), {source.member["sha256"]: 0})


def _unpacked(archive: bytes, member: str) -> bytes:
    """One file of a zip or tar archive."""
    stream = io.BytesIO(archive)
    try:
        if zipfile.is_zipfile(stream):
            return zipfile.ZipFile(stream).read(member)
        stream.seek(0)
        with tarfile.open(fileobj=stream) as tar:
            found = tar.extractfile(member)
            return found.read() if found else b""
    except (KeyError, zipfile.BadZipFile, tarfile.TarError) as error:
        raise Rejected(f"expected an archive with {member}, got {error}") from None


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise Rejected(error.strerror or str(error)) from None


def _verified(content: bytes, accepted: Mapping[str, int]) -> bytes:
    """The content if its checksum is among the accepted ones; too few bytes count as a truncated transfer."""
    found = _sha256(content)
    if found in accepted:
        return content
    expected = " or ".join(f"sha256 {sha256} ({size or 'unknown'} bytes)" for sha256, size in accepted.items())
    truncated = len(content) < min(accepted.values())
    raise Rejected(f"expected {expected}, got sha256 {found} ({len(content)} bytes)", transient=truncated)


def _download(url: str, accepted: Mapping[str, int]) -> bytes:
    """The verified bytes behind a http(s) URL; what may be transient is asked again after a short wait."""
    try:
        address = urllib.parse.urlsplit(url)
        port = address.port or (443 if address.scheme == "https" else 80)
    except ValueError as error:
        raise Rejected(f"not a URL: {error}") from None
    if address.scheme not in urllib.request.getproxies() and (reason := _unreachable(address.hostname or "", port)):
        raise Rejected(reason)
    for wait in WAITS:
        try:
            return _verified(_get(url), accepted)
        except Rejected as rejected:
            if not rejected.transient:
                raise
            _say(f"{url}: {rejected}; trying again")
            time.sleep(wait)
    return _verified(_get(url), accepted)


@cache
def _unreachable(host: str, port: int) -> str:
    """Why no connection to a host can be had, "" if one can; found out once per process and within CONNECT seconds."""
    answer: queue.SimpleQueue[str] = queue.SimpleQueue()

    def knock() -> None:
        reason = ""
        for wait in (*WAITS, 0.0):
            try:
                socket.create_connection((host, port), timeout=CONNECT).close()
                return answer.put("")
            except OSError as error:
                reason = f"no connection to {host}: {error.strerror or error}"
                if error.errno == socket.EAI_NONAME:  # no such host, or no network to ask for one
                    break
            time.sleep(wait)
        return answer.put(reason)

    threading.Thread(target=knock, daemon=True).start()  # a name look-up knows no time limit of its own
    try:
        return answer.get(timeout=CONNECT)
    except queue.Empty:
        return f"no connection to {host} within {CONNECT:g} s"


def _get(url: str) -> bytes:
    """The body behind a URL, in memory: the largest file has 2 MB."""
    _say(f"downloading {url}")
    request = urllib.request.Request(url, headers={"User-Agent": "noregret (replication of published experiments)"})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as response:
            announced = int(response.headers.get("Content-Length") or 0)
            content = _body(response)
    except urllib.error.HTTPError as error:
        transient = error.code >= 500 or error.code == 429
        raise Rejected(f"HTTP {error.code} {error.reason}", transient=transient) from None
    except (OSError, http.client.HTTPException) as error:
        raise Rejected(f"{type(error).__name__}: {error}", transient=True) from None
    _say(f"got {len(content)} bytes")
    if len(content) < announced:
        raise Rejected(f"truncated: expected {announced} bytes, got {len(content)}", transient=True)
    return content


def _body(response: http.client.HTTPResponse) -> bytes:
    """Everything a server sends, unless it trickles past the deadline."""
    end, chunks = time.monotonic() + DEADLINE, []
    while chunk := response.read1(1 << 16):
        chunks.append(chunk)
        if time.monotonic() > end:
            raise TimeoutError(f"not complete after {DEADLINE:g} s")
    return b"".join(chunks)


def _keep(path: Path, content: bytes, source: str) -> None:
    """Keep the raw file, with a line beside it that says where it came from."""
    with _writing(path):
        with atomic(_source_file(path)) as temporary:
            temporary.write_text(f"{source}\n")
        with atomic(path) as temporary:
            temporary.write_bytes(content)


def _source_of(path: Path) -> str:
    note = _source_file(path)
    return note.read_text().strip() if note.is_file() else "data/raw, put there by hand"


def _source_file(path: Path) -> Path:
    return path.with_name(f"{path.name}.source")


def _parse(dataset: Dataset, content: bytes, source: str) -> Table:
    """The table in a verified raw file. Raises DataUnavailable if its content is not the manifest's."""
    names = list(dataset.columns)
    rows = [line.split(dataset.separator) for line in content.decode("ascii").splitlines() if line]
    complete = [dict(zip(names, row, strict=True)) for row in rows if dataset.missing not in row]
    kept = [(name, dataset.codes.get(name, {})) for name in [*dataset.features, dataset.target]]
    values = np.array([[float(codes.get(row[name], row[name])) for name, codes in kept] for row in complete])
    table = Table(values, dataset.features, source)
    if table.content_sha256 != dataset.content_sha256:
        raise DataUnavailable(
            f"{dataset.name}: expected {dataset.rows} rows with content_sha256 {dataset.content_sha256}, got "
            f"{len(table.values)} rows with {table.content_sha256} from a verified file: manifest and parser disagree"
        )
    return table


def _without_file(dataset: Dataset, tried: list[str], substitutes: bool) -> Table:
    """What scikit-learn ships or a maker makes. Raises DataUnavailable where substitutes are refused."""
    table = MAKERS[dataset.substitute.made_by](dataset)
    if table.content_sha256 == dataset.content_sha256:  # scikit-learn ships the very table
        return table
    if not substitutes:
        raise DataUnavailable(_directions(dataset, tried))
    return replace(table, data=f"substitute: {dataset.substitute.says}")


def _directions(dataset: Dataset, tried: list[str]) -> str:
    path = dataset.mirror.path
    return "\n".join(
        [
            f"{dataset.name}: no verified copy of {path} could be had. Tried:",
            *(f"  {line}" for line in tried),
            f"Expected sha256 {dataset.mirror.sha256}, {dataset.mirror.bytes} bytes.",
            f"To supply it, set NOREGRET_DATA to a directory (or URL of one) that contains {path},",
            f"or put the file at data/raw/{path}.",
            "Without it, the smoke and quick scales run on a labelled substitute (--substitutes allowed).",
        ]
    )


def _regression(dataset: Dataset) -> Table:
    """Features as in _features; the target is log-normal, cut off at both ends, in steps."""
    features, score = _features(dataset)
    shape = dataset.substitute.shape
    target = shape["step"] * np.rint(shape["centre"] * np.exp(shape["spread"] * score) / shape["step"])
    return _synthetic(features, np.clip(target, shape["low"], shape["high"]))


def _classification(dataset: Dataset) -> Table:
    """Features as in _features; class 1 is the given share with the highest scores."""
    features, score = _features(dataset)
    return _synthetic(features, (score > np.quantile(score, 1 - dataset.substitute.shape["share"])).astype(np.float64))


def _features(dataset: Dataset) -> tuple[Array, Array]:
    """Correlated features (n, d) of three hidden factors, and a smooth, noisy, standardised score (n,) of these."""
    n, d = dataset.rows, len(dataset.features)
    rng = seeds.rng(0, "substitute", dataset.name)
    hidden, mixing = rng.standard_normal((n, 3)), rng.standard_normal((3, d))
    features = np.tanh(hidden @ mixing / 2) + 0.2 * rng.standard_normal((n, d))  # (n, d)
    score = hidden[:, 0] + np.sin(2 * hidden[:, 1]) + 0.5 * hidden[:, 0] * hidden[:, 2] + 0.5 * rng.standard_normal(n)
    return features, (score - score.mean()) / score.std()


def _synthetic(features: Array, target: Array) -> Table:
    names = {f"x{column}": "" for column in range(features.shape[1])}
    values: Array = np.column_stack([features, target]).round(6)  # six digits are the same on every machine
    return Table(values, names, "generated by workflow.fetch")


def _shipped_breast_cancer(_: Dataset) -> Table:
    from sklearn.datasets import load_breast_cancer  # a second to import, and rarely needed

    bunch = load_breast_cancer()
    names = {name.replace(" ", "_"): "" for name in bunch.feature_names}
    return Table(np.column_stack([bunch.data, 1 - bunch.target]), names, "scikit-learn load_breast_cancer")


def _shipped_diabetes(_: Dataset) -> Table:
    from sklearn.datasets import load_diabetes

    bunch = load_diabetes(scaled=False)
    above = bunch.target > np.median(bunch.target)
    names = dict.fromkeys(bunch.feature_names, "")
    return Table(np.column_stack([bunch.data, above]), names, "scikit-learn load_diabetes")


MAKERS: Mapping[str, Callable[[Dataset], Table]] = {
    "regression": _regression,
    "classification": _classification,
    "shipped_breast_cancer": _shipped_breast_cancer,
    "shipped_diabetes": _shipped_diabetes,
}


def _write(table: Table, dataset: Dataset, path: Path) -> None:
    """Write the prepared table: one float64 column per feature, `target`, and the provenance in the schema."""
    real = table.data == "real"
    header = {
        "name": dataset.name,
        "data": table.data,
        "content_sha256": table.content_sha256,
        "source": table.source,
        "licence": dataset.licence if real else f"not that of {dataset.name}: see source",
        "citation": dataset.citation if real else f"not that of {dataset.name}: see source",
        "features": dict(table.features),
    }
    columns = pa.Table.from_arrays(list(map(pa.array, table.values.T)), names=[*table.features, "target"])
    with _writing(path), atomic(path) as temporary:
        pq.write_table(columns.replace_schema_metadata({KEY: json.dumps(header)}), temporary, write_page_checksum=True)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    """Turn a failure to write into a sentence."""
    try:
        yield
    except OSError as error:
        raise DataUnavailable(
            f"{path}: cannot be written ({error.strerror}): expected a folder with room that we may write to; "
            "change its permissions or run in another checkout"
        ) from None


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _say(line: str) -> None:
    print(f"fetch: {line}", file=sys.stderr, flush=True)


def main(arguments: list[str] | None = None) -> int:
    """Prepare the named data sets of the checkout in the current directory; 1 if one of them cannot be had."""
    parser = argparse.ArgumentParser(prog="python -m workflow.fetch", description=__doc__)
    parser.add_argument("names", nargs="+", metavar="NAME", help="data sets of data/manifest.yaml")
    parser.add_argument("--substitutes", choices=["allowed", "refused"], default="refused")
    parser.add_argument("-o", metavar="PATH", type=Path, help="where the table goes (one NAME only)")
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


if __name__ == "__main__":
    sys.exit(main())
