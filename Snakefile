# Five Bayesian-optimization papers: fetch the data, run every cell of the plan, draw and judge.
# snakemake --cores N [--config scale=smoke|quick|paper papers=bbkb,bkb seeds=0-4]
# Environment: NOREGRET_DATA=DIR|URL, a mirror; NOREGRET_SUBSTITUTES=allowed|preferred, labelled substitutes (data/README.md).
from snakemake.utils import min_version

from workflow.plan import chosen_papers, load, names_of

min_version("9.0")

SCALE = str(config.get("scale", "quick"))
PAPERS = chosen_papers(str(config.get("papers", "")))
SEEDS = f"--seeds {config['seeds']}" if "seeds" in config else ""
PLAN = {name: load(name, SCALE, seeds=str(config.get("seeds", ""))) for name in PAPERS}


wildcard_constraints:
    scale=SCALE,
    paper="|".join(PAPERS),
    problem=r"(?!studies/)[^/]+",
    curve=r"(?!initial/)[^/]+",
    seeds=r"\d+(-\d+)?",
    name=r"[a-z0-9_]+",
    figure="|".join(names_of(PLAN, "figures")),
    table="|".join(names_of(PLAN, "tables")),


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


onsuccess:
    for name in PAPERS:
        print(
            f"{name}: figures, tables and verdicts at scale {SCALE}: figures/{SCALE}/{name}/ (start with verdicts.md)"
        )
