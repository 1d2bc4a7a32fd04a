# Five Bayesian-optimization papers: fetch the data, make every run of the plan, draw and judge.
# snakemake --cores N [--config scale=smoke|paper papers=bbkb,bkb seeds=0-4 fresh=1]
# snakemake --cores N drawn: from the published records as they are, without a run
# Environment: NOREGRET_DATA=DIR|URL, a mirror; NOREGRET_SUBSTITUTES=allowed|preferred, labelled substitutes (data/README.md).
import os
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.utils import min_version, validate

from workflow.operate import unfinished
from workflow.plan.expand import chosen_papers, lenders, load, priorities
from workflow.plan.wishes import check_cores, check_folders, heed_force
from workflow.trace.curves import PUBLISHED

min_version("9.27")  # the bounds are those of pyproject.toml: 9.27 is what is tested


# Handed to jobs elsewhere: whether they are forced, which `onstart` says, and which data they read.
os.environ.setdefault("NOREGRET_AGAIN", "0")


envvars:
    "NOREGRET_AGAIN",
    *{"NOREGRET_SUBSTITUTES"}.intersection(os.environ),


# For `--sdm apptainer` alone: what envs/Dockerfile builds, in a registry.
container: "docker://" + os.environ.get("NOREGRET_IMAGE", "localhost/noregret")


if Path("config/config.yaml").exists():

    configfile: "config/config.yaml"


validate(config, "workflow/schemas/config.schema.yaml")
try:
    check_cores(workflow.cores)
except WorkflowError:
    pass  # a command that starts no job here, such as --lint, was given none
check_folders()

SCALE, SEEDS, named = config["scale"], str(config["seeds"]), config["papers"]
PAPERS = chosen_papers(named if isinstance(named, str) else ",".join(named))
FRESH = bool(config["fresh"])  # whether published records are ignored
only = [f"--seeds {SEEDS}" if SEEDS else "", "--fresh" if FRESH else ""]
ONLY = " ".join(filter(None, only))  # what a report reads
PLAN = {
    # what a comparison borrows is made by the plan of its own paper
    name: load(name, SCALE, seeds=SEEDS)
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


rule all:
    """Every figure, table and verdict of the papers."""
    input:
        lambda _: [path for name in PAPERS for path in report_files(PLAN[name])],


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/simulators.smk"
include: "workflow/rules/run.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/site.smk"


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
    folder = "drawn" if "drawn" in workflow.dag_settings.targets else SCALE
    for name in PAPERS:
        if os.path.exists(f"figures/{folder}/{name}/verdicts.md"):
            print(
                f"{name}: figures, tables and verdicts at scale {SCALE}: figures/{folder}/{name}/ (start with verdicts.md)"
            )
