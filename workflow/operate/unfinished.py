"""What jobs that did not finish have said: told at the end of a workflow by the Snakefile.

Snakemake itself prints why a job failed only where it prints every job, too, which is 10,000 of
them in a dry run. A rule states where its jobs write their log and their output; a job whose log
has changed since the workflow began and whose output is not there did not finish.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

LAST = 12  # lines of a log that are shown
FIELD = re.compile(r"\{(\w+)\}")  # a wildcard in a path of a rule
Stamp = tuple[int, int, int]  # inode, nanoseconds of the last change, bytes


@dataclass(frozen=True)
class Places:
    """Where the jobs of a rule write, as the rule states it: `logs/{scale}/{paper}/verdicts.log`
    and its outputs.
    """

    log: str
    outputs: Sequence[str]

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """What the logs of the rule are called. A wildcard is one name of a file or folder."""
        parts = FIELD.split(self.log)
        return re.compile(
            "".join(
                re.escape(part) if position % 2 == 0 else f"(?P<{part}>[^/]+)"
                for position, part in enumerate(parts)
            )
        )

    def missing(self, log: Path) -> bool:
        """Whether this is the log of a job of the rule that has left no output."""
        found = self.pattern.fullmatch(log.as_posix())
        return found is not None and not all(
            Path(output.format_map(found.groupdict())).exists() for output in self.outputs
        )

    def knows(self, log: Path) -> bool:
        """Whether a job of the rule may have written this log."""
        return self.pattern.fullmatch(log.as_posix()) is not None


def logs(folder: Path = Path("logs")) -> dict[Path, Stamp]:
    """Every log below a folder, and by what to see that it has changed.

    They are compared with themselves, never with a clock: that of a node or of a file server may
    be another one.
    """
    return {path: stamp for path in folder.rglob("*.log") if (stamp := _stamp(path)) is not None}


def complaints(rules: Iterable[Places], before: Mapping[Path, Stamp]) -> Iterator[str]:
    """What each job that did not finish has said last, which names the remedy.

    `before` is what `logs` found when the workflow began. Where two rules could have written a
    log, the job has finished if either has its output.
    """
    known = list(rules)
    for path, stamp in sorted(logs().items()):
        writers = [rule for rule in known if rule.knows(path)]
        if stamp == before.get(path) or not writers:
            continue
        said = path.read_text(encoding="utf-8", errors="replace").strip()
        if said and all(rule.missing(path) for rule in writers):
            yield "\n  ".join([f"did not finish ({path}):", *said.splitlines()[-LAST:]])


def _stamp(path: Path) -> Stamp | None:
    """None where the log is gone: Snakemake removes it before it tries a job again."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
