"""One entry of a paper's YAML, resolved and checked: every configuration error is raised here,
before any job.

Constructor signatures come from syntax trees, so that planning thousands of runs imports no
numerical library.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from workflow import ROOT
from workflow.plan import digest as code
from workflow.plan.parameters import Signature, dotted, flat, signature, wrong_type
from workflow.trace.curves import RESERVED, PlanError, installed, is_async

SEED = "seed"  # becomes the number of the repetition
WRITTEN = "# Written by `make compare"  # how the YAML of a comparison of the user's begins
# what decides the trace of every run, whatever its problem and its algorithm
RUNNER = ("workflow.run.loop", "workflow.trace.seeds", "workflow.run.designs")


def papers(root: Path = ROOT) -> list[str]:
    """The names of all papers that have a YAML; a file `_*.yaml` is a template, no paper."""
    return [path.stem for path in _yamls(root) if not _borrows(path)]


def comparisons(root: Path = ROOT) -> list[str]:
    """The names of all files of papers/ that borrow problems and runs from papers and claim nothing
    for a paper: what is asked of all papers is not asked of them.
    """
    return [path.stem for path in _yamls(root) if _borrows(path)]


def planned(root: Path = ROOT) -> list[str]:
    """The names of all papers and comparisons."""
    return [*papers(root), *comparisons(root)]


def lasting(root: Path = ROOT) -> list[str]:
    """The same without comparisons that `make compare` has written: these are nobody's but the
    user's.
    """
    files = {name: root / "papers" / f"{name}.yaml" for name in planned(root)}
    head = WRITTEN.encode()
    return [name for name, path in files.items() if not path.read_bytes().startswith(head)]


def _yamls(root: Path) -> list[Path]:
    files = (root / "papers").glob("*.yaml")
    return sorted(path for path in files if not path.stem.startswith("_"))


def _borrows(path: Path) -> bool:
    """Whether a file has the section `borrows`; of one that is no text, its reader complains."""
    return re.search(rb"^borrows:", path.read_bytes(), flags=re.MULTILINE) is not None


def targets(parameters: object) -> set[str]:
    """Every `is:` in the parameters of a study, however deep: the optimizers that it builds by
    name.
    """
    if not isinstance(parameters, Mapping):
        return set()
    own = {parameters["is"]} if "is" in parameters else set()
    return own.union(*(targets(value) for value in parameters.values()))


def problem_identity(entry: Mapping[str, Any]) -> dict[str, Any]:
    """What a problem contributes to a digest: its entry, and the versions of the libraries that its
    values belong to.
    """
    # it decides when to give up, no value
    values = {key: value for key, value in entry.items() if key != "timeout"}
    identity = {"problem": values, "libraries": versions(entry)}
    return (
        {**identity, "simulator": source_sha256(entry["simulator"])}
        if "simulator" in entry
        else identity
    )


def algorithm_identity(entry: Mapping[str, Any]) -> dict[str, Any]:
    """What an algorithm contributes to a digest: its entry and, where it names libraries, their
    versions.
    """
    identity: dict[str, Any] = {"algorithm": dict(entry)}
    return identity | ({"algorithm libraries": versions(entry)} if "libraries" in entry else {})


def curve_digest(problem: Mapping[str, Any], algorithm: Mapping[str, Any], budget: int) -> str:
    """Of the code that a run reaches and its resolved parameters; a record with another digest is
    stale.
    """
    modules = [
        *RUNNER,
        *([] if problem["init"].get("noise", True) else ["workflow.run.exact_design"]),
        *(["workflow.run.async_loop"] if is_async(problem, algorithm) else []),
        f"problems.{problem['is'].split('.')[0]}",
        f"algorithms.{algorithm['is'].split('.')[0]}",
    ]
    identity = {**problem_identity(problem), **algorithm_identity(algorithm), "budget": budget}
    return code.digest(modules, identity)


def study_digest(function: str, problem: Mapping[str, Any], parameters: Mapping[str, Any]) -> str:
    """Of the code that a study reaches and its resolved parameters."""
    modules = [
        *RUNNER,
        f"problems.{problem['is'].split('.')[0]}",
        f"workflow.studies.{function.split('.')[0]}",
        *(f"algorithms.{target.split('.')[0]}" for target in targets(parameters)),
    ]
    return code.digest(modules, {**problem_identity(problem), "parameters": dict(parameters)})


def versions(entry: Mapping[str, Any]) -> dict[str, str]:
    """The installed versions of the libraries that an entry names."""
    return {name: installed(name) for name in entry.get("libraries", [])}


def source_sha256(simulator: str) -> str:
    """Of the source of a simulator. Raises PlanError."""
    path = ROOT / "simulators" / f"{simulator}.cc"
    if not path.exists():
        known = ", ".join(sorted(file.stem for file in path.parent.glob("*.cc"))) or "none"
        raise PlanError(f"unknown simulator {simulator!r}; known: {known}")
    return hashlib.sha256(path.read_bytes()).hexdigest()


def overrides(
    changes: Mapping[str, Mapping], key: str, known: Collection[str], problems: Iterable[str]
) -> dict[str, Any]:
    """What a reading sets for one entry: "*" reaches whoever has the parameter, a name must have
    it. Fields of groups have their flat names.

    Under "*" a mapping is a group, unless it is one over `problems`: a parameter that has the name
    of another one's group is not meant.
    """
    everyone = dotted(changes.get("*", {}), problems)
    own = flat(changes.get(key, {}), known)
    return {**{name: value for name, value in everyone.items() if name in known}, **own}


def value_for(value: Any, problem: str, problems: Mapping, published: int, where: str) -> Any:
    """One parameter for one problem: a mapping over problems is looked up, T and 1/T become the
    published horizon.
    """
    if isinstance(value, dict) and set(value) & set(problems):
        if problem not in value:
            raise PlanError(f"{where}: expected a value for problem {problem!r}, got {value}")
        value = value[problem]
    return (
        {"T": published, "1/T": 1 / published}.get(value, value)
        if isinstance(value, str)
        else value
    )


def with_given(
    raw: Mapping[str, Any],
    given: Mapping[str, str],
    problem: str,
    problems: Mapping,
    known: Collection[str],
) -> dict[str, Any]:
    """An algorithm's entry with what the problem gives to whoever has such a parameter and no own
    value for this problem.
    """

    def lacks(name: str) -> bool:
        value = raw.get(name)
        return name not in raw or (
            isinstance(value, dict) and bool(set(value) & set(problems)) and problem not in value
        )

    return {
        **raw,
        **{name: {"given": what} for name, what in given.items() if name in known and lacks(name)},
    }


def check_given(problem: Mapping[str, Any], where: str, root: Path) -> None:
    """Refuse a `given:` that names what the problem does not reveal."""
    if "given" not in problem:
        return
    known = code.reveals_of(problem["is"], root=root)
    if unknown := sorted(set(problem["given"].values()) - known):
        raise PlanError(
            f"{where}: `given` names {', '.join(unknown)}; {problem['is']} reveals"
            f" {', '.join(sorted(known)) or 'nothing'}"
        )


def check_execution(algorithm: Mapping[str, Any], problem: Mapping[str, Any], where: str) -> None:
    """Refuse an unknown way of execution, and workers without a number."""
    execution = algorithm.get("execution", problem.get("execution", "batch"))
    room = algorithm.get("room", problem["room"])
    if execution not in ("batch", "async"):
        raise PlanError(f"{where}: expected execution batch or async, got {execution!r}")
    if execution == "async" and room == "unlimited":
        raise PlanError(
            f"{where}: expected a number of workers as `room` of execution async, got unlimited"
        )


def accepted(target: str, package: str, where: str, root: Path) -> Signature:
    """What a constructor accepts. Raises PlanError."""
    try:
        return signature(target, package, root=root)
    except LookupError as error:
        raise PlanError(f"{where}: `is: {target}`: {error.args[0]}") from None


def check(entry: Mapping, accepts: Signature, where: str) -> None:
    """Names and types of parameters (flat) against a constructor; the runner fills in `data`."""
    given = set(entry) - RESERVED
    if unknown := (given | set(entry.get("substitute", {}))) - set(accepts):
        raise PlanError(
            f"{where}: unknown parameter {', '.join(sorted(unknown))} of {entry['is']}; "
            f"known: {', '.join(sorted(accepts)) or 'none'}"
        )
    required = {name for name, parameter in accepts.items() if parameter.required}
    if missing := required - given - {"data"}:
        raise PlanError(f"{where}: missing parameter {', '.join(sorted(missing))} of {entry['is']}")
    for name in given:
        value, annotation = entry[name], accepts[name].annotation
        if value != SEED and (expected := wrong_type(value, annotation)):
            raise PlanError(f"{where}: {name} of {entry['is']}: expected {expected}, got {value!r}")
    if "data" in accepts and "data" not in entry:
        raise PlanError(
            f"{where}: {entry['is']} reads a data set: add a line `data: NAME` (data/manifest.yaml"
            " lists the names)"
        )
    if "simulator" in entry and "simulator" not in accepts:
        raise PlanError(
            f"{where}: {entry['is']} runs no simulator: leave out `simulator: {entry['simulator']}`"
        )
