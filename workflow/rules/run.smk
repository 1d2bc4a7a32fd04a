# A job makes the records of several seeds of one cell or study, or of several that take seconds, and then a small list of
# them, which is what Snakemake tracks: the records themselves are kept whatever becomes of the job, and a job that is run
# again makes only what is missing. What it asks for has been measured (papers/measured.csv), with a margin, and grows when it is
# tried again.


rule initial:
    input:
        lambda wildcards: data_of(first(wildcards)),
        lambda wildcards: simulator_of(first(wildcards)),
    output:
        "results/{scale}/{paper}/{problem}/initial/seeds-{seeds}.json",
    log:
        "logs/{scale}/{paper}/{problem}/initial/{seeds}.log",
    priority: soon
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
        lambda wildcards: [
            path
            for part in asked(wildcards, "studies", wildcards.study).parts
            for path in data_of(part) + simulator_of(part)
        ],
    output:
        "results/{scale}/{paper}/studies/{study}/seeds-{seeds}.json",
    log:
        "logs/{scale}/{paper}/studies/{study}/{seeds}.log",
    priority: soon
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
        code=lambda wildcards: asked(wildcards, "studies", wildcards.study).digest,
        studies=lambda wildcards: ",".join(
            part.id for part in asked(wildcards, "studies", wildcards.study).parts
        ),
    shell:
        "python -m workflow.run {wildcards.paper} studies {params.studies:q} {wildcards.seeds}"
        " --scale {wildcards.scale} --marker {output:q} 2> {log:q}"


rule run:
    input:
        begins_with,
    output:
        "results/{scale}/{paper}/{problem}/{curve}/seeds-{seeds}.json",
    log:
        "logs/{scale}/{paper}/{problem}/{curve}/{seeds}.log",
    priority: soon
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
