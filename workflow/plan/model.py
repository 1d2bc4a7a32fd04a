"""The typed model of a paper's YAML: its sections, and one for each kind of exhibit.

papers/README.md, the checks of types and keys, and the checks of names are made from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal, Self, TypeVar, get_args, get_origin, get_type_hints

from annotated_types import MinLen
from pydantic import BaseModel, ValidationInfo, create_model, field_validator, model_validator

from workflow.plan.exhibits import REGISTRY
from workflow.plan.sections import (
    REQUIRED_SCALES,
    AlgorithmEntry,
    BorrowedEntry,
    ExperimentEntry,
    Head,
    ProblemEntry,
    ReadingEntry,
    RunLine,
    Scale,
    StudyEntry,
)
from workflow.plan.statements import (
    MOST_HEADLINES,
    AppendixEntry,
    AssumptionEntry,
    ClaimEntry,
    DeviationEntry,
    ErratumEntry,
    FindingEntry,
    WithdrawnEntry,
)
from workflow.plan.vocabulary import Name, Section, Seeds, parts, refusal, said

T = TypeVar("T")
Some = Annotated[dict[Name, T], MinLen(1)]


class _Paper(Section):
    """One paper: what is run, drawn and claimed."""

    paper: Head = said("the paper itself")
    borrows: Annotated[dict[Name, BorrowedEntry], MinLen(1)] = said(
        "paper: what a comparison borrows from it; a file with this section is no paper of its own",
        default="everything is its own",
    )
    scales: Some[Scale] = said(
        f"what each scale makes smaller; a paper needs {' and '.join(REQUIRED_SCALES)}: tests run"
        " smoke, and paper is the published size"
    )
    seeds: Seeds = said("repetitions of every run, numbered from 0", unit="seeds")
    problems: Some[ProblemEntry] = said(
        "name: a problem; needed where none is borrowed", default="all problems are borrowed"
    )
    algorithms: Some[AlgorithmEntry] = said("name: an algorithm")
    variants: dict[Name, Annotated[dict[str, Any], MinLen(1)]] = said(
        "name: parameters of a point of a sweep that the paper itself makes",
        default="the paper sweeps nothing",
    )
    readings: dict[Name, ReadingEntry] = said(
        "name: one answer to what the paper leaves open", default="nothing is read differently"
    )
    runs: Annotated[list[RunLine], MinLen(1)] = said("the curves that are run")
    studies: list[StudyEntry] = said("computations that are no runs", default="none")
    published: Annotated[dict[Name, ExperimentEntry], MinLen(1)] = said(
        "name: an experiment whose numbers the paper, its public code or a poster prints",
        default="no numbers are published",
    )
    claims: list[ClaimEntry] = said("what the paper claims, and what decides it", default="none")
    appendix: list[AppendixEntry] = said(
        "what is judged as claims are and stands in a table of its own, in no tally: controls of"
        " ours, what holds trivially, what lies outside a theorem",
        default="none",
    )
    withdrawn: list[WithdrawnEntry] = said(
        "claims of earlier reports that are not judged any more; their addresses stay",
        default="none",
    )
    assumptions: list[AssumptionEntry] = said(
        "what the paper leaves open, and what we chose", default="none"
    )
    deviations: list[DeviationEntry] = said("where text and public code differ", default="none")
    errata: list[ErratumEntry] = said("mistakes in the paper itself", default="none")
    findings: list[FindingEntry] = said(
        "what the replication found that the paper does not say", default="none"
    )

    @field_validator("scales", mode="after")
    @classmethod
    def _are_complete(cls, scales: dict[str, Scale], before: ValidationInfo) -> dict[str, Scale]:
        """The scales that are asked of all papers at once are asked of no comparison."""
        lacks = [name for name in REQUIRED_SCALES if name not in scales]
        if lacks and not before.data.get("borrows"):
            raise refusal(
                f"expected the scales {', '.join(REQUIRED_SCALES)}, which are asked of all papers"
                f" at once, got {', '.join(scales)}: add `{lacks[0]}: {{}}`"
            )
        return scales

    @field_validator("claims", mode="after")
    @classmethod
    def _have_few_headlines(cls, claims: list[ClaimEntry]) -> list[ClaimEntry]:
        """What an abstract claims is short."""
        marked = [claim.id for claim in claims if "headline" in claim.model_fields_set]
        if len(marked) > MOST_HEADLINES:
            raise refusal(
                f"expected `headline` on at most {MOST_HEADLINES} claims, those that the abstract"
                f" makes, got it on {', '.join(marked)}"
            )
        return claims

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        """Problems are a file's own, or borrowed."""
        if not {"borrows", "problems"} & self.model_fields_set:
            raise refusal("expected `problems`, or `borrows` with those of a paper, got neither")
        return self


def _with_exhibits() -> type[Section]:
    """The model of a paper, with a section for each kind of exhibit."""
    exhibits = {
        section: (
            list[kind.line],  # type: ignore[name-defined]
            said(kind.says, default="none"),
        )
        for section, kind in REGISTRY.items()
    }
    return create_model("Paper", __base__=_Paper, __doc__=_Paper.__doc__, **exhibits)  # type: ignore[call-overload]


Paper = _with_exhibits()


@cache
def hints(model: type[BaseModel]) -> dict[str, tuple[str, Any]]:
    """The properties of a model by their keys in the YAML, those that it needs first: name and
    type.
    """
    types = get_type_hints(model, include_extras=True)
    fields = sorted(model.model_fields.items(), key=lambda item: not item[1].is_required())
    return {info.alias or name: (name, types.get(name, info.annotation)) for name, info in fields}


def known_names(entry: Mapping[str, Any]) -> dict[str, list[str]]:
    """The names of each kind that a paper has, those in the labels among them that it borrows;
    nothing where a section is not what it should be.
    """

    def keys(section: str) -> list[str]:
        content = entry.get(section)
        return list(map(str, content)) if isinstance(content, Mapping) else []

    def listed(content: object) -> list[Any]:
        return content if isinstance(content, list) else []

    def ids(*sections: str) -> list[str]:
        lines = [line for section in sections for line in listed(entry.get(section))]
        return [str(line.get("id")) for line in lines if isinstance(line, Mapping)]

    borrows = entry.get("borrows")
    lines = borrows.values() if isinstance(borrows, Mapping) else ()
    listing = [line for line in lines if isinstance(line, Mapping)]
    named = [
        part
        for line in listing
        for label in listed(line.get("curves"))
        for part in parts(str(label))
    ]

    def borrowed(kind: str) -> list[str]:
        return list(dict.fromkeys(name for what, name in named if what == kind))

    problems = [name for line in listing for name in listed(line.get("problems"))]
    names = {
        "scale": keys("scales"),
        "problem": [*keys("problems"), *problems],
        "algorithm": [*keys("algorithms"), *borrowed("algorithm")],
        "reading": [*keys("readings"), *borrowed("reading")],
        "variant": [*keys("variants"), *borrowed("variant")],
        "study": ids("studies"),
        "erratum": ids("errata"),
        "claim": ids("claims", "appendix"),
        "exhibit": ids(*REGISTRY),
    }
    # a section that is needed and not there is one mistake: no name of it is another
    needed = ("scale", "problem", "algorithm")
    return {kind: some for kind, some in names.items() if some or kind not in needed}


def tags(model: type[BaseModel], key: str) -> tuple[str, ...]:
    """The values of the tag by which a model is chosen."""
    return get_args(hints(model)[key][1]) if get_origin(hints(model)[key][1]) is Literal else ()
