# A job makes records: one, or those of all seeds of a curve where these take seconds, since starting a process takes some,
# too. Each lies in the store of its digest as soon as it is made, and is kept there whatever becomes of the job or of its
# outputs. What a job asks for has been measured (papers/measured.csv), with a margin, and grows when it is tried again.


rule run:
    """Make the record of one seed of a curve or of a study."""
    input:
        needs,
    output:
        "results/{scale}/{paper}/{problem}/{curve}/{seed}.parquet",
    log:
        "logs/{scale}/{paper}/{problem}/{curve}/{seed}.log",
    wildcard_constraints:
        paper=f"(?!{pattern_of(sum(TOGETHER.values(), []))}/)(?:{'|'.join(PLAN)})",
    priority: soon
    conda:
        "../../envs/core.yaml"
    threads: 1
    resources:
        mem_mb=memory,
        runtime=minutes_of(1),
    params:
        code=code_of_run,
        given=given_to_run,
    shell:
        "python -m workflow.run {wildcards.paper} {wildcards.problem} {wildcards.curve:q} {wildcards.seed}"
        " --given {params.given} -o {output:q} 2> {log:q}"


for seeds, curves in TOGETHER.items():

    rule:
        """Make the records of several seeds of a curve or of a study in one process."""
        name:
            f"run_seeds_{seeds[0]}_{seeds[-1]}"
        input:
            needs,
        output:
            [
                f"results/{{scale}}/{{paper}}/{{problem}}/{{curve}}/{seed}.parquet"
                for seed in seeds
            ],
        log:
            f"logs/{{scale}}/{{paper}}/{{problem}}/{{curve}}/{seeds[0]}-{seeds[-1]}.log",
        wildcard_constraints:
            paper=f"(?={pattern_of(curves)}/)(?:{'|'.join(PLAN)})",
        priority: soon
        conda:
            "../../envs/core.yaml"
        threads: 1
        resources:
            mem_mb=memory,
            runtime=minutes_of(len(seeds)),
        params:
            code=code_of_run,
            given=given_to_run,
            seeds=f"{seeds[0]}-{seeds[-1]}",
        shell:
            "python -m workflow.run {wildcards.paper} {wildcards.problem} {wildcards.curve:q} {params.seeds}"
            " --given {params.given} -o {output:q} 2> {log:q}"
