# Figures, tables and verdicts read records only. A figure waits for the runs that it draws; tables and verdicts wait for
# all runs of their paper, since a verdict on half of the seeds would be another verdict.
from workflow import digest
from workflow.selection import figure, figure_runs


def drawn_by(wildcards):
    runs = {run.name: run for run in figure_runs(PLAN[wildcards.paper], wildcards.figure)}
    return [marker for run in runs.values() for marker in run.markers]


def all_markers(wildcards):
    return PLAN[wildcards.paper].markers


def report_files(plan):
    folder = f"figures/{SCALE}/{plan.name}"
    figures = [f"{folder}/{entry['id']}.{kind}" for entry in plan.entry.get("figures", []) for kind in ("pdf", "png", "csv")]
    tables = [f"{folder}/{entry['id']}.{kind}" for entry in plan.entry.get("tables", []) for kind in ("csv", "md")]
    return figures + tables + [f"{folder}/verdicts.md", f"{folder}/verdicts.json"]


def code_of(module, entry):
    return lambda wildcards: digest.digest([f"workflow.{module}"], entry(PLAN[wildcards.paper], wildcards))


rule figure:
    input:
        drawn_by,
    output:
        multiext("figures/{scale}/{paper}/{figure}", ".pdf", ".png", ".csv"),
    log:
        "logs/{scale}/{paper}/figures/{figure}.log",
    params:
        code=code_of("plots", lambda plan, wildcards: {"entry": figure(plan, wildcards.figure)}),
    conda:
        "../../envs/core.yaml"
    threads: 1
    resources:
        mem_mb=1500,
        runtime=15,
    shell:
        "python -m workflow.plots {wildcards.paper} {wildcards.figure} --scale {wildcards.scale} {SEEDS} 2> {log}"


rule table:
    input:
        all_markers,
    output:
        multiext("figures/{scale}/{paper}/{table}", ".md", ".csv"),
    log:
        "logs/{scale}/{paper}/tables/{table}.log",
    params:
        code=code_of("tables", lambda plan, _: {"entry": plan.entry}),
    conda:
        "../../envs/core.yaml"
    threads: 1
    resources:
        mem_mb=1500,
        runtime=15,
    shell:
        "python -m workflow.tables {wildcards.paper} {wildcards.table} --scale {wildcards.scale} {SEEDS} 2> {log}"


rule verdicts:
    input:
        all_markers,
    output:
        multiext("figures/{scale}/{paper}/verdicts", ".md", ".json"),
    log:
        "logs/{scale}/{paper}/verdicts.log",
    params:
        code=code_of("claims", lambda plan, _: {"entry": plan.entry}),
    conda:
        "../../envs/core.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=30,
    shell:
        "python -m workflow.claims {wildcards.paper} --scale {wildcards.scale} {SEEDS} 2> {log}"


