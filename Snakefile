# Five Bayesian-optimization papers: fetch the data, run every cell of the plan, draw and judge.
# snakemake --cores N [--config scale=smoke|quick|paper papers=bbkb,bkb seeds=0-4 fresh=1]
# Environment: NOREGRET_DATA=DIR|URL, a mirror; NOREGRET_SUBSTITUTES=allowed|preferred, labelled substitutes (data/README.md).
import sys

from snakemake.exceptions import WorkflowError
from snakemake.utils import min_version

from workflow.operate import progress, unfinished
from workflow.plan import exhibits
from workflow.plan.cells import PUBLISHED
from workflow.plan.expand import (
    chosen_papers,
    lenders,
    load,
    names_of,
    papers_of_job,
    papers_with,
)
from workflow.plan.wishes import check_config, check_cores, check_folders, is_fresh
from workflow.run import spent

min_version("9.27")  # the bounds are those of pyproject.toml: 9.27 is what is tested

# On a node of a cluster Snakemake starts itself once more, for one job alone: the command line says so.
INSIDE_A_JOB = "--target-jobs" in sys.argv
check_config(config)
try:
    check_cores(workflow.cores)
except WorkflowError:
    pass  # a command that starts no job here, such as --lint, was given none
check_folders()

SCALE = str(config.get("scale", "quick"))
PAPERS = chosen_papers(str(config.get("papers", "")))
if INSIDE_A_JOB:  # a second less for each paper that it need not look up
    PAPERS = papers_of_job(sys.argv, PAPERS)
SEEDS = f"--seeds {config['seeds']}" if "seeds" in config else ""
FRESH = is_fresh(config)  # whether published records are ignored
ONLY = f"{SEEDS} {'--fresh' if FRESH else ''}".strip()  # what a report reads
PLAN = {
    # what a comparison borrows is made by the plan of its own paper
    name: load(name, SCALE, seeds=str(config.get("seeds", "")))
    for name in [*PAPERS, *lenders(PAPERS)]
}
if not FRESH and (PUBLISHED / SCALE).is_dir():
    # numerical libraries, where there is something to look up
    from workflow.measure.store import without_published

    PLAN = {name: without_published(plan) for name, plan in PLAN.items()}
PRIORITIES = progress.priorities(PLAN.values())
if not INSIDE_A_JOB:
    progress.announce(PLAN[name] for name in PAPERS)


wildcard_constraints:
    scale=SCALE,
    paper="|".join(PLAN),
    problem=r"(?!studies/)[^/]+",
    curve=r"(?!initial/)[^/]+",
    seeds=r"\d+(-\d+)?",
    name=r"[a-z0-9_]+",


report: "workflow/captions/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/simulators.smk"
include: "workflow/rules/run.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/readings.smk"
include: "workflow/rules/site.smk"


# Every rule that starts a process, by what it says of its places (the documented `rules.NAME.log`).
WRITERS = [
    unfinished.Places(rule.log[0], tuple(rule.output))
    for rule in (
        rules.fetch,
        rules.fetch_or_substitute,
        rules.simulator,
        rules.initial,
        rules.study,
        rules.run,
        *(getattr(rules, kind.one) for kind in exhibits.REGISTRY.values()),
        rules.moving_picture,
        rules.verdicts,
        rules.sensitivity,
        rules.certificate,
        rules.settings_map,
        rules.inventory,
        rules.site,
    )
]


rule all:
    default_target: True
    input:
        [path for name in PAPERS for path in report_files(PLAN[name])],


# Why a job failed is in its own log, whose name and outputs the rules state. Snakemake names failed jobs in no place that is
# open to a workflow: `log`, what these hooks are given, leaves out whatever `quiet` of the profile leaves out, which is every
# job; and a logger plugin such as that of `make figures` would have to be named in the profile of everybody who imports this
# workflow. Logs and outputs lie on the file system that the nodes of a cluster share, so that this serves there, too.
LOGS_BEFORE = {}


onstart:
    LOGS_BEFORE.update(unfinished.logs())


onerror:
    spent.note(SCALE, succeeded=False)
    for sentence in unfinished.complaints(WRITERS, LOGS_BEFORE):
        print(sentence, file=sys.stderr)


onsuccess:
    spent.note(SCALE, succeeded=True)
    for name in PAPERS:
        print(
            f"{name}: figures, tables and verdicts at scale {SCALE}: figures/{SCALE}/{name}/ (start with verdicts.md)"
        )
