# Figures, tables and verdicts read records only. They wait for all runs of their paper: a verdict on half of the
# seeds would be another verdict.
from workflow import digest


def all_markers(wildcards):
    return PLAN[wildcards.paper].markers


def report_files(plan):
    folder = f"figures/{SCALE}/{plan.name}"
    figures = [f"{folder}/{figure['id']}.{kind}" for figure in plan.drawn_figures for kind in ("pdf", "png", "csv")]
    tables = [f"{folder}/{table['id']}.{kind}" for table in plan.entry.get("tables", []) for kind in ("csv", "md")]
    return figures + tables + [f"{folder}/verdicts.md", f"{folder}/verdicts.json"]


def code_of(module, section):
    return lambda wildcards: digest.digest([f"workflow.{module}"], {"entry": PLAN[wildcards.paper].entry.get(section)})


rule figure:
    input:
        all_markers,
    output:
        multiext("figures/{scale}/{paper}/{figure}", ".pdf", ".png", ".csv"),
    log:
        "logs/{scale}/{paper}/figures/{figure}.log",
    params:
        code=code_of("plots", "figures"),
    conda:
        "../../envs/core.yaml"
    threads: 1
    resources:
        mem_mb=1500,
        runtime=15,
    shell:
        "python -m workflow.plots {wildcards.paper} {wildcards.figure} --scale {wildcards.scale} 2> {log}"


rule table:
    input:
        all_markers,
    output:
        multiext("figures/{scale}/{paper}/{table}", ".md", ".csv"),
    log:
        "logs/{scale}/{paper}/tables/{table}.log",
    params:
        code=code_of("tables", "tables"),
    conda:
        "../../envs/core.yaml"
    threads: 1
    resources:
        mem_mb=1500,
        runtime=15,
    shell:
        "python -m workflow.tables {wildcards.paper} {wildcards.table} --scale {wildcards.scale} 2> {log}"


rule verdicts:
    input:
        all_markers,
    output:
        multiext("figures/{scale}/{paper}/verdicts", ".md", ".json"),
    log:
        "logs/{scale}/{paper}/verdicts.log",
    params:
        code=code_of("claims", "claims"),
    conda:
        "../../envs/core.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=30,
    shell:
        "python -m workflow.claims {wildcards.paper} --scale {wildcards.scale} 2> {log}"


