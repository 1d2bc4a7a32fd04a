# Figures, tables and verdicts read records only. A figure waits for the runs that it draws; tables and verdicts wait for
# all runs of their paper, since a verdict on half of the seeds would be another verdict.


rule figure:
    input:
        drawn_by,
    output:
        multiext("figures/{scale}/{paper}/{figure}", ".pdf", ".png", ".csv"),
    log:
        "logs/{scale}/{paper}/figures/{figure}.log",
    conda:
        "../../envs/core.yaml"
    threads: 1
    resources:
        mem_mb=1500,
        runtime=15,
    params:
        seeds=SEEDS,
        code=code_of(
            "plots", lambda plan, wildcards: {"entry": figure(plan, wildcards.figure)}
        ),
    shell:
        "python -m workflow.plots {wildcards.paper} {wildcards.figure} --scale {wildcards.scale} {params.seeds} 2> {log}"


rule picture:
    input:
        pictured,
    output:
        "figures/{scale}/{paper}/{picture}.png",
    log:
        "logs/{scale}/{paper}/pictures/{picture}.log",
    wildcard_constraints:
        picture="|".join(names_of(PLAN, "pictures")),
    conda:
        "../../envs/core.yaml"
    threads: 1
    resources:
        mem_mb=1500,
        runtime=15,
    params:
        seeds=SEEDS,
        code=picture_code,
    shell:
        "python -m workflow.picture {wildcards.paper} {wildcards.picture} --scale {wildcards.scale} {params.seeds} 2> {log}"


use rule picture as moving_picture with:
    output:
        multiext("figures/{scale}/{paper}/{picture}", ".png", ".gif"),
    wildcard_constraints:
        picture="|".join(names_of(PLAN, "pictures", moves=True)),


rule table:
    input:
        all_markers,
    output:
        multiext("figures/{scale}/{paper}/{table}", ".md", ".csv"),
    log:
        "logs/{scale}/{paper}/tables/{table}.log",
    conda:
        "../../envs/core.yaml"
    threads: 1
    resources:
        mem_mb=1500,
        runtime=15,
    params:
        seeds=SEEDS,
        code=code_of("tables", lambda plan, _: {"entry": plan.entry}),
    shell:
        "python -m workflow.tables {wildcards.paper} {wildcards.table} --scale {wildcards.scale} {params.seeds} 2> {log}"


rule verdicts:
    input:
        all_markers,
    output:
        multiext("figures/{scale}/{paper}/verdicts", ".md", ".json"),
    log:
        "logs/{scale}/{paper}/verdicts.log",
    conda:
        "../../envs/core.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        seeds=SEEDS,
        code=code_of("claims", lambda plan, _: {"entry": plan.entry}),
    shell:
        "python -m workflow.claims {wildcards.paper} --scale {wildcards.scale} {params.seeds} 2> {log}"
