# What the rules look up in the plan; everything clever is in workflow/*.py.
from dataclasses import asdict
from pathlib import Path

from workflow import ROOT
from workflow.plan import digest
from workflow.data.places import (
    downloads_allowed,
    prepared_path,
    substitutes_allowed,
    superseded,
)
from workflow.judge import fixed
from workflow.plan.exhibits import REGISTRY, lines_of
from workflow.data.simulators import binary
from workflow.trace import listing

if not INSIDE_A_JOB:
    for plan in PLAN.values():
        for sentence in plan.forget_lost(damages=listing.damages):
            print(f"damaged: {sentence}", file=sys.stderr)


def asked(wildcards, problem, curve):
    # The marker of a job lies with the first run that it makes. Asked several times for each of thousands of jobs.
    paper, seeds = wildcards.paper, wildcards.seeds
    return PLAN[paper].job(
        f"results/{SCALE}/{paper}/{problem}/{curve}/seeds-{seeds}.json"
    )


def curves(wildcards):
    parts = asked(wildcards, wildcards.problem, wildcards.curve).parts
    return ",".join(cell.curve for cell in parts)


def soon(wildcards):
    # The cheapest paper first, so that something is decided soon.
    return PRIORITIES[wildcards.paper]


def at_once(wildcards):
    # What is drawn and judged comes before the runs of the next paper.
    return PRIORITIES[wildcards.paper] + 5


def first(wildcards):
    return PLAN[wildcards.paper].first_cell(wildcards.problem)


def data_of(found):
    if "data" not in found.problem_entry:
        return []
    path = prepared_path(
        found.problem_entry["data"],
        root=Path(),
        substitutes=substitutes_allowed(SCALE),
    )
    return [str(path)]


def simulator_of(found):
    name = found.problem_entry.get("simulator")
    return [] if name is None else [str(binary(name, root=Path()))]


def begins_with(wildcards):
    # One function, not three: Snakemake's own work on each adds up over thousands of jobs.
    cell = first(wildcards)
    initial = PLAN[wildcards.paper].initial_marker(wildcards.problem)
    return [*data_of(cell), *simulator_of(cell), initial]


def drawn_from(section):
    # What an exhibit waits for: the jobs of the runs that it reads, and what is published of them.
    def sources(wildcards):
        plan, kind = PLAN[wildcards.paper], REGISTRY[section]
        return sources_of(kind.runs(plan, wildcards[kind.one]))

    return sources


def sources_of(runs):
    # Those that a comparison borrows are made by the plan of their own paper.
    by_paper = {}
    for run in runs:
        by_paper.setdefault(run.paper, []).append(run)
    return [
        path for paper, own in by_paper.items() for path in PLAN[paper].sources(own)
    ]


def drawn_with(section):
    # The code and the lines of YAML that decide what an exhibit shows.
    def code(wildcards):
        plan, kind = PLAN[wildcards.paper], REGISTRY[section]
        name = wildcards[kind.one]
        return digest.digest(
            kind.modules(kind.find(plan, name)), kind.parameters(plan, name)
        )

    return code


def all_sources(wildcards):
    plan = PLAN[wildcards.paper]
    return sources_of([*plan.parts, *plan.borrowed])


def report_files(plan):
    # The lists of records, too: what is drawn from them may be there and a list lost, of which Snakemake alone would think
    # that nobody needs it any more.
    folder = f"figures/{SCALE}/{plan.name}"
    shown = [path for kind, line in lines_of(plan.entry) for path in kind.files(line)]
    ledger = [
        "verdicts.md",
        "verdicts.json",
        "seed-values.json",
        "sensitivity.md",
        "runs.json",
    ]
    ledger += ["certificate.md", "certificate.json", "claims-by-settings.png"]
    return [*plan.jobs, *(f"{folder}/{path}" for path in shown + ledger)]


def history_of(plan):
    # Since when checks and defaults are what they are: verdicts say it.
    lines = fixed.read(ROOT).get(plan.name, {})
    return {claim: asdict(line) for claim, line in lines.items()}


def code_of(module, entry):
    return lambda wildcards: digest.digest(
        [f"workflow.{module}"], entry(PLAN[wildcards.paper], wildcards)
    )
