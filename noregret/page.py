"""The generated parts of docs/library.md: `python -m noregret.page` writes them anew.

What stands between `<!-- NAME -->` and `<!-- /NAME -->` comes from docstrings and from
papers/*.yaml.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import noregret
from noregret import presets
from noregret.asking import Optimizer
from noregret.catalogue import METHODS, RECOMMENDED, Method, named
from workflow.plan import parameters
from workflow.plan.resolve import ROOT

PAGE = ROOT / "docs" / "library.md"
SHOWN = ("ask", "tell", "best", "forget", "save", "load", "history", "pending", "settings")


def written(page: str) -> str:
    """The page with its generated parts as they are today."""
    for name, text in (("methods", _methods()), ("presets", _presets()), ("names", _names())):
        begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
        before, _, rest = page.partition(begin)
        page = f"{before}{begin}{text}\n{end}{rest.partition(end)[2]}"
    return page


def _table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _methods() -> str:
    head = ("name", "on", "what it is", "constraints", "while queries are pending", "`noise` sets")
    return _table(
        head,
        (
            (
                f"`{one.name}`",
                one.domain,
                f"{one.about} ({one.cite})",
                "yes" if one.constrained else "no",
                one.batch,
                one.noise,
            )
            for one in (named(line.name, RECOMMENDED) for line in METHODS)
        ),
    )


def _presets() -> str:
    head = ("name", "`paper`", "values by problem, and T", "`public code`", "`recommended`")
    return _table(head, map(_line, METHODS))


def _line(one: Method) -> tuple[str, ...]:
    changes = [f"reading `{one.reading}`"] * bool(one.reading)
    changes += [f"`{name}: {value}`" for name, value in one.changes.items()]
    if one.own:
        values = parameters.dotted(dict(one.own["values"]))
        changes.append(f"the class `{one.own['target']}`")
        changes += [f"`{name}: {value}`" for name, value in values.items()]
    return (
        f"`{one.name}`",
        f"{one.algorithm} of `papers/{one.paper}.yaml`",
        ", ".join(_by_problem(one)) or "none",
        f"reading `{one.public}`" if one.public else "none",
        f"{', '.join(changes)}: {one.why}" if changes else "as `paper`",
    )


def _by_problem(one: Method) -> Iterator[str]:
    """Each parameter that the paper has by problem, or by the number of evaluations."""
    entry = presets.document(one.paper).entry
    own = entry["algorithms"][one.algorithm]
    known = parameters.names(presets.accepted(one))[1]
    for name, value in parameters.flat(own, known).items():
        if name in known and isinstance(value, Mapping) and one.like in value:
            yield f"`{name}: {value[one.like]}` (of `{one.like}`)"
        elif value in ("T", "1/T"):
            yield f"`{name}: {value}`"


def _names() -> str:
    found = []
    for name in noregret.__all__:
        thing: Any = getattr(noregret, name)
        if inspect.isfunction(thing) or thing is Optimizer:
            found.append(_entry(f"noregret.{name}", thing))
    found += [_entry(f"Optimizer.{name}", getattr(Optimizer, name)) for name in SHOWN]
    return "\n\n".join(found)


def _entry(name: str, thing: Any) -> str:
    """A heading, the names of arguments, and the docstring as it stands."""
    called = inspect.isfunction(thing) or inspect.ismethod(thing)
    arguments = [
        f"{'**' * (one.kind is one.VAR_KEYWORD)}{key}"
        + (f"={one.default!r}" if one.default is not one.empty else "")
        for key, one in (inspect.signature(thing).parameters if called else {}).items()
        if key != "self"
    ]
    said = inspect.getdoc(thing) or ""
    call = f"({', '.join(arguments)})".replace("*", r"\*") if called else ""
    return f"### {name}{call}\n```text\n{said}\n```"


if __name__ == "__main__":
    Path(PAGE).write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
