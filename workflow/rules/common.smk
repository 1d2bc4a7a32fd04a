# What the rules look up in the plan; everything clever is in the rooms of workflow/.
import json
import os
import re
from pathlib import Path

from workflow import ROOT
from workflow.plan import costs, digest
from workflow.data.places import (
    downloads_allowed,
    prepared_path,
    substitutes_allowed,
    superseded,
)
from workflow.plan.exhibits import LEDGER, kinds_of_exhibits, lines_of
from workflow.plan.wishes import refuse_target
from workflow.data.simulators import binary
from workflow.trace.curves import hand_over

# The curves and studies of all papers whose seeds share a process, by these seeds.
TOGETHER = {}
for plan in PLAN.values():
    for seeds, curves in plan.together().items():
        TOGETHER.setdefault(seeds, []).extend(curves)


def any_of(names):
    # A pattern; of no name where there is none.
    return f"(?:{'|'.join(map(re.escape, names)) or '-'})"


def pattern_of(curves):
    # A pattern of `paper/problem/curve`. Snakemake looks through it for every file, so problems with the same curves share them.
    labels, problems = {}, {}
    for curve in curves:
        problem, label = curve.place
        labels.setdefault(f"{curve.paper}/{problem}", []).append(label)
    for problem, names in labels.items():
        problems.setdefault(tuple(sorted(names)), []).append(problem)
    lines = [f"{any_of(some)}/{any_of(names)}" for names, some in problems.items()]
    return f"(?:{'|'.join(lines) or '-'})"


# All that the rules draw, but for their endings, as a pattern.
EXHIBITS = "|".join(
    f"{plan.name}/{re.escape(name)}"
    for plan in PLAN.values()
    for name in [
        *(name.partition(".")[0] for name in LEDGER),
        *(line.id for _, line in lines_of(plan.entry)),
    ]
)


# The bare names of exhibits, as a pattern.
IDS = any_of(line.id for plan in PLAN.values() for _, line in lines_of(plan.entry))


def soon(wildcards):
    # The cheapest paper first, so that something is decided soon.
    return PRIORITIES[wildcards.paper]


def at_once(wildcards):
    # What is drawn and judged comes before the runs of the next paper.
    return PRIORITIES[wildcards.paper] + 5


def inputs_of(curve):
    # The prepared data and the simulator of its problem, where it has such.
    entry, paths = curve.problem_entry, []
    if "data" in entry:
        allowed = substitutes_allowed(SCALE)
        paths.append(prepared_path(entry["data"], root=Path(), substitutes=allowed))
    if "simulator" in entry:
        paths.append(binary(entry["simulator"], root=Path()))
    return list(map(str, paths))


def curve_of(wildcards):
    # The curve or the study whose records a job makes.
    return PLAN[wildcards.paper].any_curve(wildcards.problem, wildcards.curve)


def needs(wildcards):
    return inputs_of(curve_of(wildcards))


def code_of_run(wildcards):
    return curve_of(wildcards).digest


def given_to_run(wildcards, output):
    # A file, since Snakemake prints the whole command of a job that fails. It is written wherever the job runs, and by no
    # command that only looks, such as --summary, which has no executor. Since this names the output, Snakemake takes it for
    # no cause to run again: the digest is that.
    runs = workflow.executor_plugin is not None and not workflow.dryrun
    return hand_over(curve_of(wildcards), Path(".snakemake", "given"), write=runs)


def memory(wildcards, attempt):
    return attempt * costs.memory_mb(curve_of(wildcards))


def minutes_of(seeds):
    # Of a job that makes so many seeds.
    return lambda wildcards, attempt: attempt * costs.minutes(
        curve_of(wildcards), seeds
    )


def sources_of(curves):
    # Records that jobs make, with what their digests hold beside code, and published ones, which are sources of this
    # repository: `local`, not in a remote storage. What a comparison borrows is made by the plan of its own paper.
    by_paper = {}
    for curve in curves:
        by_paper.setdefault(curve.paper, []).append(curve)
    found = []
    for paper, own in by_paper.items():
        plan = PLAN[paper]
        made = [curve for curve in own if plan.to_make(curve)]
        needed = [path for curve in made for path in inputs_of(curve)]
        found += [*plan.records(own), *dict.fromkeys(needed)]
        found += map(local, plan.published(own))
    return found


def shown_files(plan, folder):
    shown = [path for kind, line in lines_of(plan.entry) for path in kind.files(line)]
    return [f"figures/{folder}/{plan.name}/{path}" for path in ["verdicts.md", *shown]]


def report_files(plan):
    # Lost records, too: where what is drawn from them is there, Snakemake alone would think that nobody needs them any more.
    # Where there are no verdicts, these are made, and wait for every record.
    shown = shown_files(plan, SCALE)
    records = plan.records(plan.every_curve) if os.path.exists(shown[0]) else []
    return [*(path for path in records if not os.path.exists(path)), *shown]


def folder_of(wildcards, output):
    """Where a job of a report writes."""
    return os.path.dirname(output[0])


def read_by(plan):
    # Every curve and study that the report of a paper reads.
    return [*plan.every_curve, *plan.borrowed]


def published_files(plan):
    there = [curve.published for curve in read_by(plan) if curve.published.exists()]
    return [local(str(path)) for path in there]


def drawn_as(plan):
    # The code and the YAML of a report, and the records of one's own that it reads as well: as its input they would be made.
    def code(wildcards):
        own = {
            str(path): path.stat().st_mtime_ns
            for curve in read_by(plan)
            for path in map(curve.record, curve.seeds)
            if path.exists()
        }
        drawers = {"workflow.draw.report"}
        for kind, line in lines_of(plan.entry):
            drawers.update(kind.modules(line))
        return digest.digest(sorted(drawers), {"entry": plan.entry, "own": own})

    return code


def drawn_from(kind):
    # What an exhibit waits for: the records that it reads, to be made or published.
    def sources(wildcards):
        return sources_of(kind.runs(PLAN[wildcards.paper], wildcards.exhibit))

    return sources


def drawn_with(kind):
    # The code and the lines of YAML that decide what an exhibit shows.
    def code(wildcards):
        plan, name = PLAN[wildcards.paper], wildcards.exhibit
        return digest.digest(
            kind.modules(kind.find(plan, name)), kind.parameters(plan, name)
        )

    return code


def judged_with(wildcards):
    # The code and the YAML that decide verdicts, and since when checks and defaults are what they are, which verdicts say.
    plan = PLAN[wildcards.paper]
    ledger = ROOT / "papers" / "history.json"
    entered = json.loads(ledger.read_text()) if ledger.exists() else {}
    return digest.digest(
        ["workflow.draw.report"],
        {"entry": plan.entry, "history": entered.get(plan.name, {})},
    )


def all_sources(wildcards):
    return sources_of(read_by(PLAN[wildcards.paper]))
