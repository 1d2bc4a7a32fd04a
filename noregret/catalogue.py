"""Which methods there are: their names here, whose paper's YAML has their numbers, what they take.

No number of a paper's method stands here: presets are readings of papers/*.yaml
(noregret/presets.py). Where the library recommends a class of its own, its settings stand here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from workflow.plan.citations import BIBLIOGRAPHY, Cited, bibliography
from workflow.plan.nearest import or_nearest
from workflow.plan.resolve import ROOT

PAPER, PUBLIC, RECOMMENDED = "paper", "public code", "recommended"
PRESETS = (PAPER, PUBLIC, RECOMMENDED)
BOX, ARMS = "box", "arms"

# What a method does while queries are pending, asked for and not yet told.
DRAWS = "independent draws"  # of its own: whatever is pending
HEEDS = "its library's way"  # of heeding them
MEANS = "its models' means there"  # given to a copy of the models by the method itself
BATCHES = "batches of its own"  # as long as its rule allows; then as below
BELIEVES = "believed values"  # a copy is told its model's means at what is pending

# What the argument `noise` sets.
REGULARISATION = "xi and lam"
LIKELIHOOD = "the likelihood's variance"
GRAM = "whether predictions have the fitted noise"
PRESENCE = "whether a variance is fitted"
SAMPLED = "whether the variance is sampled"
FITTED = "nothing: always fitted"
IGNORED = "nothing: has no noise model"

# of a bandwidth: the median distance between arms, then what has the largest evidence
EVIDENCE = "evidence"


@dataclass(frozen=True)
class Method:
    """A method by its name here.

    paper, algorithm: the line of papers/<paper>.yaml that has its parameters.
    like: the problem there whose values are taken where they differ by problem.
    cite: the key of its own paper in papers/references.bib.
    domain: "box", "arms" for the rows of a table, or "box or arms".
    constrained: whether it takes constraints g <= 0.
    batch: what it does while queries are pending.
    noise: what the argument `noise` sets.
    public: the reading that follows the authors' public code, "" where there is none.
    reading, changes, why: what `recommended` changes of `paper`, and for which reason.
    own: fields of this line that `recommended` replaces, if its class is the library's own.
    target, values: a class of the library's own, `module.Class`, and its parameters.
    most_rows: of a table under which `changes` are made; none, however many it has.
    repeats: whether it evaluates a point several times by its own rule.
    recognises: whether it waits for values of the very points that it has asked for.
    needs: libraries that it alone loads.
    extra: the extra of pyproject.toml that has them, where that has not the method's name.
    """

    name: str
    paper: str
    algorithm: str
    like: str
    cite: str
    domain: str
    about: str
    constrained: bool = False
    batch: str = BELIEVES
    noise: str = FITTED
    public: str = ""
    reading: str = ""
    changes: Mapping[str, Any] = field(default_factory=dict, hash=False)
    why: str = ""
    own: Mapping[str, Any] = field(default_factory=dict, hash=False)
    target: str = ""
    values: Mapping[str, Any] = field(default_factory=dict, hash=False)
    most_rows: int | None = None
    repeats: bool = False
    recognises: bool = False
    needs: tuple[str, ...] = ()
    extra: str = ""

    @property
    def presets(self) -> tuple[str, ...]:
        """The presets that it has."""
        return tuple(name for name in PRESETS if name != PUBLIC or self.public)

    @property
    def citation(self) -> str:
        """Authors, title, where and when."""
        return str(_bibliography()[self.cite])


class Methods(Sequence[Method]):
    """All methods; printed, a table."""

    def __init__(self, rows: Sequence[Method]) -> None:
        self._rows = tuple(rows)

    def __getitem__(self, which: Any) -> Any:
        """A method by its number or its name."""
        return named(which) if isinstance(which, str) else self._rows[which]

    def __contains__(self, which: object) -> bool:
        """Whether there is such a method, or one of that name, in any case."""
        name = which.lower() if isinstance(which, str) else getattr(which, "name", None)
        return name in [one.name for one in self._rows]

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        head = ("name", "on", "constraints", "while queries are pending", "presets", "what it is")
        lines = [
            (
                one.name,
                one.domain,
                "yes" if one.constrained else "no",
                named(one.name, RECOMMENDED).batch,
                ", ".join(one.presets),
                f"{one.about} ({one.cite})",
            )
            for one in self._rows
        ]
        widths = [max(map(len, column)) for column in zip(head, *lines, strict=True)]
        return "\n".join(
            "  ".join(word.ljust(width) for word, width in zip(line, widths, strict=True)).rstrip()
            for line in (head, *lines)
        )


def methods() -> Methods:
    """All methods, which print as a table; `methods()["lcbo"].citation` says whose one is."""
    return Methods(METHODS)


def named(name: str, preset: str = PAPER) -> Method:
    """The method of that name, in any case, as this preset has it. Raises ValueError on an unknown
    name.
    """
    for one in METHODS:
        if one.name == name.lower():
            return replace(one, **one.own) if preset == RECOMMENDED else one
    raise ValueError(f"unknown method {name!r}{or_nearest(name, [one.name for one in METHODS])}")


@cache
def _bibliography() -> dict[str, Cited]:
    return bibliography((ROOT / BIBLIOGRAPHY).read_text(encoding="utf-8"))


_TUNED = (
    "the paper tunes the bandwidth on each of its tables: what has the largest evidence takes its"
    " place, among multiples of the median distance between arms"
)
_KEPT = (
    f"{_TUNED}, and the dictionary is drawn once an arm, as in the authors' public code: once a"
    " pull forgets the arms that are known best (findings, draws-per-pull)"
)
_SCALED = (
    "the paper's baselines see raw units, in which they stay near random search (findings,"
    " scale-of-the-baselines)"
)
_CONSTRAINED: dict[str, Any] = {
    "paper": "lcbo",
    "like": "truss",
    "domain": BOX,
    "constrained": True,
    "noise": LIKELIHOOD,
}
_FITTED: dict[str, Any] = {
    **_CONSTRAINED,
    "changes": {"fit": {"steps": 50}},
    "why": "five steps of L-BFGS are enough where one fit goes on from another, as in the paper's"
    " runs; a history that is told at once is fitted from a cold start, with as many steps as"
    " LCBO's own fits have",
}
_LOG_CEI: dict[str, Any] = {
    "target": "log_cei.LogCEI",
    "values": {
        "climb": {"raw": 512, "starts": 10, "steps": 100},
        "nearby": {"count": 256, "widest": 0.1, "narrowest": 1e-4},
        "likelihood": "noisy",
    },
    "batch": MEANS,
    "noise": PRESENCE,
}
_ADDITIVE: dict[str, Any] = {"paper": "dumbo", "like": "rover", "domain": BOX, "noise": GRAM}
_BASELINE: dict[str, Any] = {
    "paper": "go_ucb",
    "like": "f3",
    "domain": BOX,
    "reading": "scaled",
    "why": _SCALED,
}
_BANDIT: dict[str, Any] = {
    "paper": "bbkb",
    "like": "cadata",
    "domain": ARMS,
    "noise": REGULARISATION,
    "changes": {"bandwidth": EVIDENCE},
    "why": _TUNED,
}
_SKETCHED: dict[str, Any] = {
    **_BANDIT,
    "public": "reference-code",
    "reading": "per-arm",
    "why": _KEPT,
}

_LIBRARY: dict[str, Any] = {
    "paper": "today",
    "like": "f3",
    "domain": BOX,
    "constrained": True,
    "batch": HEEDS,
    "extra": "today",
}
_TODAY = (
    Method(
        name="logei",
        algorithm="LogEI",
        cite="ament2023logei",
        about="expected improvement on a logarithmic scale, by BoTorch",
        needs=("botorch",),
        **_LIBRARY,
    ),
    Method(
        name="optuna-gp",
        algorithm="Optuna-GP",
        cite="akiba2019optuna",
        about="Optuna's sampler with a Gaussian process",
        needs=("optuna",),
        **_LIBRARY,
    ),
    Method(
        name="optuna-tpe",
        algorithm="Optuna-TPE",
        cite="watanabe2023tpe",
        about="Optuna's tree-structured Parzen estimator",
        needs=("optuna",),
        noise=IGNORED,
        **_LIBRARY,
    ),
    Method(
        name="cma-es",
        algorithm="CMA-ES",
        recognises=True,
        cite="hansen2016tutorial",
        about="the evolution strategy of pycma",
        needs=("cma",),
        noise=IGNORED,
        **_LIBRARY,
    ),
    Method(
        name="ngopt",
        algorithm="NGOpt",
        recognises=True,
        cite="meunier2022ngopt",
        about="Nevergrad's choice of an optimizer",
        needs=("nevergrad",),
        noise=IGNORED,
        **_LIBRARY,
    ),
)

METHODS = (
    Method(
        name="lcbo",
        algorithm="LCBO",
        cite="jing2026lcbo",
        public="official-code",
        repeats=True,
        about="local descent with a penalty, for many variables",
        **_CONSTRAINED,
    ),
    Method(
        name="cei",
        algorithm="CEI",
        cite="gardner2014constrained",
        about="constrained expected improvement",
        own=_LOG_CEI,
        **{
            **_CONSTRAINED,
            "why": "the paper's CEI has one length-scale for all variables; LogCEI has one for"
            " each, and compresses constraints that dwarf others",
        },
    ),
    Method(
        name="epbo",
        algorithm="EPBO",
        cite="lu2022epbo",
        about="an exact penalty on optimistic constraints",
        **_FITTED,
    ),
    Method(
        name="scbo",
        algorithm="SCBO",
        recognises=True,
        cite="eriksson2021scbo",
        batch=DRAWS,
        about="Thompson sampling in a trust region, constrained",
        **_FITTED,
    ),
    Method(
        name="hdsafebo",
        algorithm="HDsafeBO",
        recognises=True,
        cite="wei2025hdsafebo",
        batch=DRAWS,
        about="Thompson sampling where it may be safe",
        **_FITTED,
    ),
    Method(
        name="gp-ei",
        algorithm="GP-EI",
        cite="jones1998ego",
        about="expected improvement",
        **_BASELINE,
    ),
    Method(
        name="gp-pi",
        algorithm="GP-PI",
        cite="kushner1964multipeak",
        about="probability of improvement",
        **_BASELINE,
    ),
    Method(
        name="gp-ucb-constant",
        algorithm="GP-UCB",
        cite="srinivas2010gpucb",
        about="upper confidence bound, beta constant",
        **_BASELINE,
    ),
    Method(
        name="go-ucb",
        paper="go_ucb",
        algorithm="GO-UCB",
        like="f3",
        domain=BOX,
        cite="liu2023goucb",
        noise=IGNORED,
        about="joint ascent over points and a network's parameters",
    ),
    Method(
        name="gp-ucb-box",
        algorithm="GP-UCB",
        cite="srinivas2010gpucb",
        about="upper confidence bound, beta grows",
        **_ADDITIVE,
    ),
    Method(
        name="dumbo",
        algorithm="DuMBO",
        cite="bardou2024dumbo",
        public="public-code",
        about="sums of processes that agree by messages",
        **_ADDITIVE,
    ),
    Method(
        name="dec-hbo",
        algorithm="DEC-HBO",
        cite="hoang2018dechbo",
        about="sums of processes, by max-sum",
        **_ADDITIVE,
    ),
    Method(
        name="add-gpucb",
        algorithm="ADD-GPUCB",
        cite="kandasamy2015addgpucb",
        about="a sum of one process a variable",
        **_ADDITIVE,
    ),
    Method(
        name="linebo",
        algorithm="LineBO",
        cite="kirschner2019linebo",
        about="searches along lines",
        **_ADDITIVE,
    ),
    Method(
        name="ms-ucb",
        algorithm="MS-UCB",
        cite="gupta2020msucb",
        about="upper confidence bound on subspaces",
        **_ADDITIVE,
    ),
    Method(
        name="turbo",
        algorithm="TuRBO",
        recognises=True,
        cite="eriksson2019turbo",
        batch=DRAWS,
        about="Thompson sampling in a trust region",
        **{**_ADDITIVE, "noise": FITTED},
    ),
    Method(
        name="saasbo",
        algorithm="SAASBO",
        cite="eriksson2021saasbo",
        about="expected improvement where few variables matter",
        needs=("jax", "numpyro"),
        **{**_ADDITIVE, "noise": SAMPLED},
    ),
    Method(
        name="random",
        algorithm="random-search",
        cite="bardou2024dumbo",
        constrained=True,
        batch=DRAWS,
        about="uniform random search",
        **{**_ADDITIVE, "domain": f"{BOX} or {ARMS}", "noise": IGNORED},
    ),
    Method(
        name="bbkb",
        algorithm="Global-BBKB",
        cite="calandriello2020bbkb",
        batch=BATCHES,
        about="batches on a sketch, for large tables",
        **_SKETCHED,
    ),
    Method(
        name="bkb",
        algorithm="BKB",
        cite="calandriello2019bkb",
        about="upper confidence bound on a sketch",
        **_SKETCHED,
    ),
    Method(
        name="gp-ucb",
        algorithm="GP-UCB",
        cite="srinivas2010gpucb",
        public="reference-code",
        about="upper confidence bound, exact",
        **_BANDIT,
    ),
    Method(
        name="gp-bucb",
        algorithm="GP-BUCB",
        cite="desautels2014gpbucb",
        batch=BATCHES,
        public="reference-code",
        about="batches, exact",
        **_BANDIT,
    ),
    Method(
        name="async-ts",
        algorithm="Async-TS",
        cite="kandasamy2018parallelts",
        batch=DRAWS,
        public="reference-code",
        about="Thompson sampling over a table",
        # a draw over all rows under a short bandwidth takes minutes and gigabytes for more
        most_rows=2000,
        **{**_BANDIT, "why": f"{_TUNED}, in tables of 2000 rows and fewer"},
    ),
    Method(
        name="eps-greedy",
        algorithm="eps-greedy",
        cite="calandriello2020bbkb",
        batch=DRAWS,
        about="the best arm, or sometimes any",
        **{**_BANDIT, "noise": IGNORED, "changes": {}, "why": ""},
    ),
    *_TODAY,
)
