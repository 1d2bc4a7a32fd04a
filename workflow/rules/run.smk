# A job makes the records of several seeds of one cell, or of several cells that take seconds, and then a small list of
# them, which is what Snakemake tracks: the records themselves are kept whatever becomes of the job, and a job that is run
# again makes only what is missing. What it asks for has been measured (papers/costs.yaml), with a margin, and grows when it is
# tried again.


rule initial:
    input:
        lambda wildcards: data_of(first(wildcards)),
        lambda wildcards: simulator_of(first(wildcards)),
    output:
        "results/{scale}/{paper}/{problem}/initial/seeds-{seeds}.json",
    log:
        "logs/{scale}/{paper}/{problem}/initial/{seeds}.log",
    conda:
        "../../envs/core.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=10,
    params:
        code=lambda wildcards: first(wildcards).initial_digest,
    shell:
        "python -m workflow.run {wildcards.paper} {wildcards.problem} initial {wildcards.seeds}"
        " --scale {wildcards.scale} --marker {output} 2> {log}"


rule study:
    input:
        lambda wildcards: data_of(study(wildcards)),
        lambda wildcards: simulator_of(study(wildcards)),
    output:
        "results/{scale}/{paper}/studies/{study}/seeds-{seeds}.json",
    log:
        "logs/{scale}/{paper}/studies/{study}/{seeds}.log",
    conda:
        "../../envs/core.yaml"
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: (
            attempt * asked(wildcards, "studies", wildcards.study).memory_mb
        ),
        runtime=lambda wildcards, attempt: (
            attempt * asked(wildcards, "studies", wildcards.study).minutes
        ),
    params:
        code=lambda wildcards: study(wildcards).digest,
    shell:
        "python -m workflow.run {wildcards.paper} studies {wildcards.study} {wildcards.seeds}"
        " --scale {wildcards.scale} --marker {output} 2> {log}"


rule run:
    input:
        lambda wildcards: data_of(first(wildcards)),
        lambda wildcards: simulator_of(first(wildcards)),
        lambda wildcards: PLAN[wildcards.paper].initial_marker(wildcards.problem),
    output:
        "results/{scale}/{paper}/{problem}/{curve}/seeds-{seeds}.json",
    log:
        "logs/{scale}/{paper}/{problem}/{curve}/{seeds}.log",
    conda:
        "../../envs/core.yaml"
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: (
            attempt * asked(wildcards, wildcards.problem, wildcards.curve).memory_mb
        ),
        runtime=lambda wildcards, attempt: (
            attempt * asked(wildcards, wildcards.problem, wildcards.curve).minutes
        ),
    params:
        code=lambda wildcards: asked(
            wildcards, wildcards.problem, wildcards.curve
        ).digest,
        curves=curves,
    shell:
        "python -m workflow.run {wildcards.paper} {wildcards.problem} {params.curves:q} {wildcards.seeds}"
        " --scale {wildcards.scale} --marker {output:q} 2> {log:q}"
