# Five Bayesian-optimization papers: fetch the data, run every cell of the plan, draw and judge.
# snakemake --cores N [--config scale=smoke|quick|paper papers=bbkb,bkb seeds=0-4]
# Environment: NOREGRET_DATA=DIR|URL, a mirror; NOREGRET_SUBSTITUTES=allowed|preferred, labelled substitutes (data/README.md).
import sys

from snakemake.utils import min_version

from workflow.plan.expand import (
    chosen_papers,
    load,
    names_of,
    papers_of_job,
    papers_with,
)
from workflow.run import spent

min_version("9.0")

SCALE = str(config.get("scale", "quick"))
PAPERS = chosen_papers(str(config.get("papers", "")))
if (
    workflow.remote_exec
):  # one job on a node: a second less for each paper that it need not look up
    PAPERS = papers_of_job(sys.argv, PAPERS)
SEEDS = f"--seeds {config['seeds']}" if "seeds" in config else ""
PLAN = {name: load(name, SCALE, seeds=str(config.get("seeds", ""))) for name in PAPERS}


wildcard_constraints:
    scale=SCALE,
    paper="|".join(PAPERS),
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


rule all:
    default_target: True
    input:
        [path for name in PAPERS for path in report_files(PLAN[name])],


onstart:
    # With a limit of starts a second Snakemake looks for work a second after every look, once more for each job that has
    # ended, until all are: after some thousand jobs it did nothing else.
    workflow.scheduler.job_rate_limiter = None


onerror:
    spent.note(SCALE, succeeded=False)
    for sentence in complaints(workflow.scheduler.failed):
        print(sentence, file=sys.stderr)


onsuccess:
    spent.note(SCALE, succeeded=True)
    for name in PAPERS:
        print(
            f"{name}: figures, tables and verdicts at scale {SCALE}: figures/{SCALE}/{name}/ (start with verdicts.md)"
        )
