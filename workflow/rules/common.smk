# What the rules look up in the plan; everything clever is in workflow/*.py.
from pathlib import Path

from workflow.plan import digest
from workflow.data.places import (
    downloads_allowed,
    prepared_path,
    substitutes_allowed,
    superseded,
)
from workflow.plan.selection import (
    figure,
    figure_runs,
    picture,
    picture_cells,
    rank_runs,
    ranks,
)
from workflow.data.simulators import binary

if not INSIDE_A_JOB:
    for plan in PLAN.values():
        plan.forget_lost()


def asked(wildcards, problem, curve):
    # The marker of a job lies with the first run that it makes. Asked several times for each of thousands of jobs.
    paper, seeds = wildcards.paper, wildcards.seeds
    return PLAN[paper].jobs[
        f"results/{SCALE}/{paper}/{problem}/{curve}/seeds-{seeds}.json"
    ]


def curves(wildcards):
    parts = asked(wildcards, wildcards.problem, wildcards.curve).parts
    return ",".join(cell.curve for cell in parts)


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


def drawn_by(wildcards):
    plan = PLAN[wildcards.paper]
    return plan.markers(figure_runs(plan, wildcards.figure))


def ranked(wildcards):
    plan = PLAN[wildcards.paper]
    return plan.markers(rank_runs(plan, wildcards.ranks))


def pictured(wildcards):
    plan = PLAN[wildcards.paper]
    return plan.markers(picture_cells(plan, wildcards.picture))


def picture_code(wildcards):
    line = picture(PLAN[wildcards.paper], wildcards.picture)
    drawer = f"workflow.draw.drawers.{line['is'].partition('.')[0]}"
    return digest.digest(["workflow.draw.picture", drawer], {"entry": line})


def all_markers(wildcards):
    return list(PLAN[wildcards.paper].jobs)


def report_files(plan):
    folder = f"figures/{SCALE}/{plan.name}"
    figures = [
        f"{folder}/{entry['id']}.{kind}"
        for section in ("figures", "ranks")
        for entry in plan.entry.get(section, [])
        for kind in ("pdf", "png", "csv", "json")
        if kind != "json" or section == "figures"
    ]
    tables = [
        f"{folder}/{entry['id']}.{kind}"
        for entry in plan.entry.get("tables", [])
        for kind in ("csv", "md")
    ]
    pictures = [
        f"{folder}/{entry['id']}.{kind}"
        for entry in plan.entry.get("pictures", [])
        for kind in ("png", "gif")
        if kind == "png" or entry.get("moves")
    ]
    ledger = [
        f"{folder}/{name}"
        for name in ("verdicts.md", "verdicts.json", "sensitivity.md", "runs.json")
    ]
    return figures + tables + pictures + ledger


def code_of(module, entry):
    return lambda wildcards: digest.digest(
        [f"workflow.{module}"], entry(PLAN[wildcards.paper], wildcards)
    )
