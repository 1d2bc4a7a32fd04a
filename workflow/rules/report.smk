# Figures, tables and verdicts read records only. A figure waits for the runs that it draws; tables and verdicts wait for
# all runs of their paper, since a verdict on half of the seeds would be another verdict.


rule figure:
    input:
        drawn_from("figures"),
    output:
        multiext("figures/{scale}/{paper}/{figure}", ".pdf", ".csv", ".json"),
        report(
            "figures/{scale}/{paper}/{figure}.png",
            caption="../captions/figure.rst",
            category="{paper}",
            subcategory="figures",
            labels={"figure": "{figure}", "scale": "{scale}"},
        ),
    log:
        "logs/{scale}/{paper}/figures/{figure}.log",
    wildcard_constraints:
        paper=papers_with(PLAN, "figures"),
        figure="|".join(names_of(PLAN, "figures")),
    priority: at_once
    conda:
        "../../envs/core.yaml"
    threads: 1
    resources:
        mem_mb=1500,
        runtime=15,
    params:
        only=ONLY,
        code=drawn_with("figures"),
    shell:
        "python -m workflow.plots {wildcards.paper} {wildcards.figure} --scale {wildcards.scale} {params.only} 2> {log}"


rule ranks:
    input:
        drawn_from("ranks"),
    output:
        multiext("figures/{scale}/{paper}/{ranks}", ".pdf", ".csv"),
        report(
            "figures/{scale}/{paper}/{ranks}.png",
            caption="../captions/figure.rst",
            category="{paper}",
            subcategory="figures",
            labels={"figure": "{ranks}", "scale": "{scale}"},
        ),
    log:
        "logs/{scale}/{paper}/ranks/{ranks}.log",
    wildcard_constraints:
        paper=papers_with(PLAN, "ranks"),
        ranks="|".join(names_of(PLAN, "ranks")),
    priority: at_once
    conda:
        "../../envs/core.yaml"
    threads: 1
    resources:
        mem_mb=1500,
        runtime=15,
    params:
        only=ONLY,
        code=drawn_with("ranks"),
    shell:
        "python -m workflow.ranks {wildcards.paper} {wildcards.ranks} --scale {wildcards.scale} {params.only} 2> {log}"


rule profile:
    input:
        drawn_from("profiles"),
    output:
        multiext("figures/{scale}/{paper}/{profile}", ".pdf", ".csv", ".json"),
        report(
            "figures/{scale}/{paper}/{profile}.png",
            caption="../captions/figure.rst",
            category="{paper}",
            subcategory="figures",
            labels={"figure": "{profile}", "scale": "{scale}"},
        ),
    log:
        "logs/{scale}/{paper}/profiles/{profile}.log",
    wildcard_constraints:
        paper=papers_with(PLAN, "profiles"),
        profile="|".join(names_of(PLAN, "profiles")),
    priority: at_once
    conda:
        "../../envs/core.yaml"
    threads: 1
    resources:
        mem_mb=1500,
        runtime=15,
    params:
        only=ONLY,
        code=drawn_with("profiles"),
    shell:
        "python -m workflow.profiles {wildcards.paper} {wildcards.profile} --scale {wildcards.scale} {params.only} 2> {log}"


rule picture:
    input:
        drawn_from("pictures"),
    output:
        report(
            "figures/{scale}/{paper}/{picture}.png",
            caption="../captions/figure.rst",
            category="{paper}",
            subcategory="pictures",
            labels={"picture": "{picture}", "scale": "{scale}"},
        ),
    log:
        "logs/{scale}/{paper}/pictures/{picture}.log",
    wildcard_constraints:
        paper=papers_with(PLAN, "pictures"),
        picture="|".join(names_of(PLAN, "pictures")),
    priority: at_once
    conda:
        "../../envs/core.yaml"
    threads: 1
    resources:
        mem_mb=1500,
        runtime=15,
    params:
        only=ONLY,
        code=drawn_with("pictures"),
    shell:
        "python -m workflow.picture {wildcards.paper} {wildcards.picture} --scale {wildcards.scale} {params.only} 2> {log}"


use rule picture as moving_picture with:
    output:
        "figures/{scale}/{paper}/{picture}.png",
        report(
            "figures/{scale}/{paper}/{picture}.gif",
            caption="../captions/figure.rst",
            category="{paper}",
            subcategory="pictures",
            labels={"picture": "{picture}", "scale": "{scale}"},
        ),
    wildcard_constraints:
        paper=papers_with(PLAN, "pictures", moves=True),
        picture="|".join(names_of(PLAN, "pictures", moves=True)),


rule table:
    input:
        drawn_from("tables"),
    output:
        "figures/{scale}/{paper}/{table}.md",
        report(
            "figures/{scale}/{paper}/{table}.csv",
            caption="../captions/table.rst",
            category="{paper}",
            subcategory="tables",
            labels={"table": "{table}", "scale": "{scale}"},
        ),
    log:
        "logs/{scale}/{paper}/tables/{table}.log",
    wildcard_constraints:
        paper=papers_with(PLAN, "tables"),
        table="|".join(names_of(PLAN, "tables")),
    priority: at_once
    conda:
        "../../envs/core.yaml"
    threads: 1
    resources:
        mem_mb=1500,
        runtime=15,
    params:
        only=ONLY,
        code=drawn_with("tables"),
    shell:
        "python -m workflow.tables {wildcards.paper} {wildcards.table} --scale {wildcards.scale} {params.only} 2> {log}"


rule verdicts:
    input:
        all_sources,
    output:
        multiext("figures/{scale}/{paper}/", "verdicts.json", "seed-values.json"),
        report(
            "figures/{scale}/{paper}/verdicts.md",
            caption="../captions/verdicts.rst",
            category="{paper}",
            subcategory="claims",
            labels={"table": "verdicts", "scale": "{scale}"},
        ),
    log:
        "logs/{scale}/{paper}/verdicts.log",
    priority: at_once
    conda:
        "../../envs/core.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        only=ONLY,
        code=code_of(
            "judge.ledger",
            lambda plan, _: {"entry": plan.entry, "history": history_of(plan)},
        ),
    shell:
        "python -m workflow.claims {wildcards.paper} --scale {wildcards.scale} {params.only} 2> {log}"
