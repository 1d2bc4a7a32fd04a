# Five Bayesian-optimization papers: fetch the data, make every run of the plan, draw and judge.
# snakemake --cores N [--config scale=smoke|quick|paper papers=bbkb,bkb seeds=0-4 fresh=1]
# Environment: NOREGRET_DATA=DIR|URL, a mirror; NOREGRET_SUBSTITUTES=allowed|preferred, labelled substitutes (data/README.md).
import sys

from snakemake.exceptions import WorkflowError
from snakemake.utils import min_version

from workflow.operate import unfinished
from workflow.plan.expand import (
    chosen_papers,
    lenders,
    load,
    priorities,
)
from workflow.plan.wishes import (
    check_config,
    check_cores,
    check_folders,
    heed_force,
    is_fresh,
)
from workflow.trace.cells import PUBLISHED

min_version("9.27")  # the bounds are those of pyproject.toml: 9.27 is what is tested

check_config(config)
try:
    check_cores(workflow.cores)
except WorkflowError:
    pass  # a command that starts no job here, such as --lint, was given none
check_folders()

SCALE = str(config.get("scale", "quick"))
PAPERS = chosen_papers(str(config.get("papers", "")))
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
PRIORITIES = priorities(PLAN.values())


wildcard_constraints:
    scale=SCALE,
    paper="|".join(PLAN),
    problem=r"[^/]+",
    curve=r"[^/]+",
    seed=r"\d+",
    name=r"[a-z0-9_]+",


report: "workflow/captions/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/simulators.smk"
include: "workflow/rules/run.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/site.smk"


rule all:
    """Every figure, table and verdict of the papers."""
    default_target: True
    input:
        [path for name in PAPERS for path in report_files(PLAN[name])],


# Snakemake names failed jobs in no place that is open to a workflow, and the profile leaves out its own listing of jobs: why a
# job failed is the end of its log.
LOGS_BEFORE = {}


onstart:
    LOGS_BEFORE.update(unfinished.logs())
    heed_force(workflow.dag_settings)


onerror:
    for sentence in unfinished.complaints(LOGS_BEFORE):
        print(sentence, file=sys.stderr)


onsuccess:
    for name in PAPERS:
        print(
            f"{name}: figures, tables and verdicts at scale {SCALE}: figures/{SCALE}/{name}/ (start with verdicts.md)"
        )
