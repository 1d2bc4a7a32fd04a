# Figures, tables and verdicts read records only. An exhibit waits for the runs that it shows; verdicts wait for all runs of
# their paper, since a verdict on half of the seeds would be another verdict.


for kind, endings, names in kinds_of_exhibits(PLAN.values()):

    rule:
        """Draw one exhibit of a paper."""
        name:
            f"{kind.one}_{endings[-1]}" if endings[-1] == "gif" else kind.one
        input:
            drawn_from(kind),
        output:
            [
                f"figures/{{scale}}/{{paper}}/{{exhibit}}.{one}"
                for one in (*endings[1:], *["pdf"] * kind.has_print)
            ],
            shown=report(
                f"figures/{{scale}}/{{paper}}/{{exhibit}}.{endings[0]}",
                caption=f"../captions/{'table' if kind.one == 'table' else 'figure'}.rst",
                category="{paper}",
                subcategory=kind.section,
                labels={kind.one: "{exhibit}", "scale": "{scale}"},
            ),
        log:
            f"logs/{{scale}}/{{paper}}/{{exhibit}}.{endings[0]}.log",
        wildcard_constraints:
            paper=f"(?=(?:{'|'.join(names)})\\.)(?:{'|'.join(PLAN)})",
            exhibit=r"[^/.]+",
        priority: at_once
        conda:
            "../../envs/core.yaml"
        threads: 1
        resources:
            mem_mb=1500,
            runtime=15,
        params:
            only=ONLY,
            code=drawn_with(kind),
        shell:
            "python -m workflow.report {wildcards.paper} {wildcards.exhibit} --scale {wildcards.scale}"
            " -o $(dirname {output.shown:q}) --rooted {params.only} 2> {log}"


rule verdicts:
    """Judge all claims of a paper under all settings; tables of comparisons, seeds and runs."""
    input:
        all_sources,
    output:
        [
            f"figures/{{scale}}/{{paper}}/{name}"
            for name in LEDGER
            if not name.endswith(".md")
        ],
        shown=report(
            [
                f"figures/{{scale}}/{{paper}}/{name}"
                for name in LEDGER
                if name.endswith(".md")
            ],
            caption="../captions/verdicts.rst",
            category="{paper}",
            subcategory="claims",
            labels={"scale": "{scale}"},
        ),
    log:
        "logs/{scale}/{paper}/verdicts.log",
    priority: at_once
    conda:
        "../../envs/core.yaml"
    threads: 1
    resources:
        mem_mb=3000,
        runtime=30,
    params:
        only=ONLY,
        folder=folder_of,
        code=judged_with,
    shell:
        "python -m workflow.report {wildcards.paper} verdicts --scale {wildcards.scale}"
        " -o {params.folder:q} --rooted {params.only} 2> {log}"


rule drawn:
    """Everything as it is published: whatever code made the records, and without a run."""
    input:
        [path for name in PAPERS for path in shown_files(PLAN[name], "drawn")],


for plan in map(PLAN.get, dict.fromkeys(PAPERS)):

    rule:
        """Draw and judge a paper from the records that are there, each read once."""
        name:
            f"draw_{plan.name}"
        input:
            published_files(plan),
        output:
            shown_files(plan, "drawn"),
        log:
            f"logs/drawn/{plan.name}.log",
        conda:
            "../../envs/core.yaml"
        threads: 1
        resources:
            mem_mb=3000,
            runtime=30,
        params:
            paper=plan.name,
            scale=SCALE,
            folder=folder_of,
            code=drawn_as(plan),
        shell:
            "python -m workflow.report {params.paper} --scale {params.scale} --partial"
            " -o {params.folder:q} --rooted 2> {log}"


rule no_such_target:
    """Say what is wrong with the name of a figure or a record that nothing makes."""
    input:
        lambda wildcards: refuse_target(PLAN, SCALE, wildcards.target),
    output:
        "{target}",
    wildcard_constraints:
        target="|".join(
            [
                f"figures(?!/(?:reference|drawn)/)(?!/{SCALE}/(?:{EXHIBITS})\\.)/[^/]+/[^/]+/.+",
                f"results(?!/(?:store|{SCALE})/)/[^/]+/[^/]+/.+",
                f"(?:{any_of(PLAN)}/)?{IDS}",
            ]
        ),
