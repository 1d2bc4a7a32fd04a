"""Enter in papers/history.json since when the check of each claim, and the defaults of its runs,
have been what they are, and when its first records were there: `python -m workflow.history
[--check]`, called by `make history`.

It is read from git. The history of papers/PAPER.yaml gives the commit since which a check, or the
defaults, have been what they are without a break; YAML that only an older model knew is read as
plain YAML. The first records of a claim are there with the first commit whose reports or published
records have numbers for it: a verdicts.json with an effect under its id, or records of all runs of
one of its comparisons. A record that names the commit that made it is there from that one on.
Commits are ordered by ancestry and then by date. What is not committed counts as of now.

`--check`, called by `make check`, needs no git: it fails where a claim is not what its line speaks
of, has none, or is gone.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from workflow.judge import fixed
from workflow.judge.checks import pairs_of
from workflow.judge.evidence import Evidence
from workflow.judge.fixed import AFTER, BEFORE, LEDGER, TOGETHER, Line, Name
from workflow.measure.store import Run, Store
from workflow.plan.expand import load
from workflow.plan.reads import stated
from workflow.plan.resolve import ROOT, papers
from workflow.trace import curve_file
from workflow.trace.atomic import atomic
from workflow.trace.cells import PUBLISHED, Cell, PlanError

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times as fast where it is compiled
SHORT = 10  # digits of a commit
NEVER = math.inf
REPORTS = Path("figures", "reference")
Place = tuple[str, str]  # problem and curve, or "studies" and a study


class NoHistory(Exception):
    """This is no checkout whose whole history is there."""


@dataclass(frozen=True)
class Commit:
    """A commit, with the numbers of its parents: the number of a commit is larger than theirs."""

    sha: str
    seconds: int  # since 1970
    parents: tuple[int, ...]

    def __str__(self) -> str:
        when = datetime.fromtimestamp(self.seconds, UTC)
        return f"{when:%Y-%m-%dT%H:%M:%SZ} {self.sha[:SHORT]}".rstrip()


class History:
    """The commits of a checkout, ancestors first, and last what is not committed."""

    def __init__(self, root: Path) -> None:
        self.root = root
        try:
            if self._git("rev-parse", "--is-shallow-repository").strip() != b"false":
                raise NoHistory(f"{root}: expected the whole history, found a shallow clone")
            lines = self._git("log", "--date-order", "--reverse", "--format=%H %ct %P", "HEAD")
        except (FileNotFoundError, subprocess.CalledProcessError) as error:
            raise NoHistory(f"{root}: expected a checkout with its history: {error}") from None
        self.commits: list[Commit] = []
        self.number: dict[str, int] = {}
        for line in lines.decode().splitlines():
            sha, seconds, *parents = line.split()
            self.number[sha] = len(self.commits)
            known = tuple(self.number[parent] for parent in parents)
            self.commits.append(Commit(sha, int(seconds), known))
        now = int(datetime.now(UTC).timestamp())
        self.commits.append(Commit("", now, (len(self.commits) - 1,)))

    def versions(self, path: Path) -> list[bytes | None]:
        """A file as each commit has it, and as it is; None where it is not there."""
        wanted = [f"{commit.sha}:{path.as_posix()}" for commit in self.commits[:-1]]
        said = self._git("cat-file", "--batch-check=%(objectname)", text="\n".join(wanted)).decode()
        there = ["" if line.endswith(" missing") else line for line in said.splitlines()]
        texts = dict(self._contents(dict.fromkeys(filter(None, there))))
        file = self.root / path
        return [*(texts.get(blob) for blob in there), file.read_bytes() if file.exists() else None]

    def _contents(self, blobs: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        names = list(blobs)
        said, start = self._git("cat-file", "--batch", text="\n".join(names)), 0
        for name in names:
            end = said.index(b"\n", start)
            size = int(said[start:end].split()[-1])
            yield name, said[end + 1 : end + 1 + size]
            start = end + size + 2

    def touched(self, folder: Path) -> dict[Path, tuple[int, int]]:
        """The files below a folder, each with the numbers of the first and the last commit that
        changed it.
        """
        found: dict[Path, tuple[int, int]] = {}
        options = ("--full-history", "--no-renames", "--name-only", "--format=:%H")
        said = self._git("-c", "core.quotePath=off", "log", *options, "--", folder.as_posix())
        number = 0
        for line in said.decode().splitlines():
            if line.startswith(":"):
                number = self.number[line[1:]]
            elif line:
                first, last = found.get(Path(line), (number, number))
                found[Path(line)] = min(first, number), max(last, number)
        return found

    def is_committed(self, folder: Path) -> bool:
        """Whether the files below a folder are as the last commit has them."""
        return not self._git("status", "--porcelain", "--", folder.as_posix()).strip()

    def since(self, values: Sequence[Any]) -> int:
        """The number of the commit since which a value has been the last one, without a break."""
        origin: list[int] = []
        for number, (commit, value) in enumerate(zip(self.commits, values, strict=True)):
            same = [origin[parent] for parent in commit.parents if values[parent] == value]
            origin.append(min(same, default=number))
        return origin[-1]

    def place(self, made: str) -> float:
        """When a record may be there that says which commit made it; never for one that is not of
        this history.
        """
        return self.number.get(made.removesuffix("-dirty"), NEVER) + 0.5

    def _git(self, *arguments: str, text: str = "") -> bytes:
        command = ["git", "-C", str(self.root), *arguments]
        return subprocess.run(
            command, input=text.encode() or None, capture_output=True, check=True
        ).stdout


def entries(history: History, path: Path) -> list[dict[str, Any]]:
    """A YAML as each commit has it; one that cannot be read counts as that of the commit before,
    one that is not there as empty.
    """
    read: dict[bytes, dict[str, Any] | None] = {}
    found: list[dict[str, Any]] = []
    for commit, text in zip(history.commits, history.versions(path), strict=True):
        if text is not None and text not in read:
            read[text] = _entry(text)
        entry = {} if text is None else read[text]
        if entry is None:
            entry = found[commit.parents[0]] if commit.parents else {}
        found.append(entry)
    return found


def _entry(text: bytes) -> dict[str, Any] | None:
    try:
        entry = yaml.load(text, Loader=LOADER)
    except (yaml.YAMLError, UnicodeDecodeError):
        return None
    return entry if isinstance(entry, dict) else None


def lines(history: History, name: str) -> dict[str, Line]:
    """The lines of a paper's claims. Raises PlanError."""
    versions = entries(history, Path("papers", f"{name}.yaml"))
    today = versions[-1]
    claims = {str(claim["id"]): claim for claim in _stated(today)}
    first = first_records(history, name, claims)
    # a version is met by many commits: what is made of it is kept by its identity
    digests = _of_each(versions, fixed.digests)
    checks = _of_each(versions, _deciding)
    found = {}
    for key, claim in claims.items():
        names = fixed.named(today, claim)
        check = history.since([each.get(key) for each in checks])
        defaults = history.since(_combined(digests, names))
        there = first[key]
        found[key] = Line(
            check=fixed.hash_of_check(claim),
            check_since=str(history.commits[check]),
            check_what=_changed(history, [each.get(key) for each in checks], check),
            check_came=_came(check, there),
            defaults=fixed.combined(digests[-1], names),
            defaults_since=str(history.commits[defaults]),
            defaults_came=_came(defaults, there),
            first_records="" if there == NEVER else str(history.commits[int(there)]),
        )
    return found


def _of_each(versions: Sequence[Any], make: Callable[[Any], Any]) -> list[Any]:
    """What is made of each version, once of each."""
    known: dict[int, Any] = {}
    for version in versions:
        if id(version) not in known:
            known[id(version)] = make(version)
    return [known[id(version)] for version in versions]


def _deciding(entry: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    return {str(claim["id"]): fixed.deciding(claim) for claim in _stated(entry) if "id" in claim}


def _stated(entry: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """All that a version of a paper's YAML has judged, of which it may have a section empty."""
    return [*(entry.get("claims") or []), *(entry.get("appendix") or [])]


def _changed(history: History, values: Sequence[Mapping[str, str] | None], since: int) -> str:
    """The parts of a check that a commit changed; "" where the claim was new with it."""
    now = values[since] or {}
    before = [values[parent] for parent in history.commits[since].parents]
    parts: list[set[str]] = [
        {key for key in now.keys() | was.keys() if now.get(key) != was.get(key)}
        for was in before
        if was is not None
    ]
    fewest = min(parts, key=len) if parts else set[str]()
    return ", ".join(sorted(fewest))


def _combined(digests: Sequence[Mapping[Name, str]], names: Iterable[Name]) -> list[str]:
    wanted = sorted(set(names))
    return _of_each(digests, lambda each: fixed.combined(each, wanted))


def _came(since: int, there: float) -> str:
    return BEFORE if since < there else TOGETHER if since == there else AFTER


def first_records(
    history: History, name: str, claims: Mapping[str, Mapping[str, Any]]
) -> dict[str, float]:
    """When each claim of a paper had its first records: the number of a commit; half of one more
    where a record says that this commit made it, and so is younger; NEVER where it has none.
    """
    judged = _judged(history, REPORTS / name / "verdicts.json")
    places = _published(history, name)
    paper = load(name, _largest(name, history.root), root=history.root)
    evidence = Evidence(paper, Store(paper, history.root))
    found = {}
    for key, claim in claims.items():
        pairs = _comparisons(evidence, claim)
        by_runs = [max(places.get(_place(run), NEVER) for run in pair) for pair in pairs]
        found[key] = min([judged.get(key, NEVER), *by_runs])
    return found


def _comparisons(evidence: Evidence, claim: Mapping[str, Any]) -> list[tuple[Run, ...]]:
    return [pair for pair in pairs_of(evidence, claim) if pair]


def _largest(name: str, root: Path) -> str:
    text = (root / "papers" / f"{name}.yaml").read_bytes()
    return str(list(yaml.load(text, Loader=LOADER)["scales"])[-1])


def _place(run: Run) -> Place:
    return (run.problem_name, run.curve) if isinstance(run, Cell) else ("studies", run.id)


def _judged(history: History, path: Path) -> dict[str, float]:
    """The claims that reports had numbers for, with the first commit that had them."""
    found: dict[str, float] = {}
    read: dict[bytes, list[str]] = {}
    for number, text in enumerate(history.versions(path)):
        if text is None:
            continue
        if text not in read:
            read[text] = [
                str(claim["id"])
                for claim in _stated(json.loads(text))
                if any(one.get("effect") is not None for one in claim["comparisons"])
            ]
        for claim in read[text]:
            found.setdefault(claim, number)
    return found


def _published(history: History, name: str) -> dict[Place, float]:
    """The runs that reports list or of which records are published, and when these were there."""
    found: dict[Place, float] = {}

    def there(place: Place, when: float) -> None:
        found[place] = min(when, found.get(place, NEVER))

    read: set[bytes] = set()
    for number, text in enumerate(history.versions(REPORTS / name / "runs.json")):
        if text is None or text in read:
            continue
        read.add(text)
        listed = json.loads(text)
        for run in listed["runs"]:
            when = min([number, *map(history.place, run["commits"])])
            for curve in {run["curve"], *run["names"]}:
                there((run["problem"], curve), when)
        for run in listed["studies"]:
            there(("studies", run["study"]), min([number, *map(history.place, run["commits"])]))
    touched, now = history.touched(PUBLISHED), len(history.commits) - 1
    for folder in sorted((history.root / PUBLISHED).glob(f"*/{name}")):
        for file in sorted(folder.rglob("*.parquet")):
            place = file.relative_to(folder).with_suffix("").parts
            made = {
                str(header.get("provenance", {}).get("commit", ""))
                for header in curve_file.headers(file).values()
            }
            number, _ = touched.get(file.relative_to(history.root), (now, now))
            there((place[0], place[1]), min([number, *map(history.place, made)]))
    return found


def text_of(found: Mapping[str, Mapping[str, Line]]) -> str:
    """The ledger as it is written: a line a claim."""
    parts = []
    for paper, claims in sorted(found.items()):
        rows = [f"{json.dumps(key)}: {json.dumps(asdict(claims[key]))}" for key in sorted(claims)]
        parts.append(f"{json.dumps(paper)}: {{\n" + ",\n".join(rows) + "\n}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def wrong(root: Path) -> list[str]:
    """What the ledger does not say of the claims as they stand, in sentences. Raises PlanError."""
    known, found = fixed.read(root), []
    for name in papers(root):
        paper = load(name, _largest(name, root), root=root)
        said = known.pop(name, {})
        there = {str(claim["id"]): claim for claim in stated(paper.entry)}
        for key, claim in there.items():
            judged = fixed.of(paper.entry, claim, said)
            what = [
                part
                for part, came in (("check", judged.check), ("defaults", judged.defaults))
                if came == fixed.ALTERED
            ]
            if judged.check == fixed.UNENTERED:
                found.append(f"{LEDGER}: expected a line of {name}'s claim {key}, found none")
            elif what:
                found.append(
                    f"{LEDGER}: the {' and the '.join(what)} of {name}'s claim {key} changed since"
                    f" {fixed.day(getattr(said[key], f'{what[0]}_since'))}"
                )
        gone = [key for key in said if key not in there]
        found += [f"{LEDGER}: {name} has no claim {key}" for key in gone]
    return found + [f"{LEDGER}: there is no paper {name}" for name in known]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m workflow.history",
        description="Enter in papers/history.json when checks and defaults were fixed, from git.",
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing, fail where the ledger is stale"
    )
    parser.add_argument("--root", type=Path, default=ROOT, help="of the checkout")
    options = parser.parse_args(arguments)
    try:
        if options.check:
            errors = wrong(options.root)
            errors += ["run `make history`, and commit what it writes"] if errors else []
        else:
            history = History(options.root)
            found = {name: lines(history, name) for name in papers(options.root)}
            with atomic(options.root / LEDGER) as temporary:
                temporary.write_text(text_of(found), encoding="utf-8")
            print(f"wrote {LEDGER}: {sum(map(len, found.values()))} claims", file=sys.stderr)
            errors = []
    except (NoHistory, PlanError) as error:
        errors = [str(error)]
    for sentence in errors:
        print(f"error: {sentence}", file=sys.stderr)
    return int(bool(errors))
