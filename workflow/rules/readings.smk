# Claims by readings. The verdicts wait for all runs of their paper, those under its readings among them; the matrix reads the
# verdicts alone. The certificate reads records, too, for pairs of readings and for printed numbers; the curves read it alone.
# Which claims have a curve is known only then, so that their folder is the output: it is made anew each time.


rule sensitivity:
    input:
        "figures/{scale}/{paper}/verdicts.json",
    output:
        "figures/{scale}/{paper}/sensitivity.json",
        report(
            "figures/{scale}/{paper}/sensitivity.md",
            caption="../captions/sensitivity.rst",
            category="{paper}",
            subcategory="claims",
            labels={"table": "sensitivity to readings", "scale": "{scale}"},
        ),
    log:
        "logs/{scale}/{paper}/sensitivity.log",
    conda:
        "../../envs/core.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        code=code_of("judge.sensitivity", lambda plan, _: {}),
    shell:
        "python -m workflow.sensitivity {wildcards.paper} --scale {wildcards.scale} 2> {log}"


rule certificate:
    input:
        all_sources,
        verdicts="figures/{scale}/{paper}/verdicts.json",
    output:
        "figures/{scale}/{paper}/certificate.json",
        report(
            "figures/{scale}/{paper}/certificate.md",
            caption="../captions/certificate.rst",
            category="{paper}",
            subcategory="claims",
            labels={"table": "robustness of claims", "scale": "{scale}"},
        ),
    log:
        "logs/{scale}/{paper}/certificate.log",
    conda:
        "../../envs/core.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        only=ONLY,
        code=code_of("judge.certificate", lambda plan, _: {"entry": plan.entry}),
    shell:
        "python -m workflow.certificate {wildcards.paper} --scale {wildcards.scale} {params.only} 2> {log}"


rule specifications:
    input:
        "figures/{scale}/{paper}/certificate.json",
    output:
        directory("figures/{scale}/{paper}/specifications"),
    log:
        "logs/{scale}/{paper}/specifications.log",
    conda:
        "../../envs/core.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        code=code_of("draw.specification", lambda plan, _: {}),
    shell:
        "python -m workflow.specification {wildcards.paper} --scale {wildcards.scale} 2> {log}"


rule readings:
    input:
        [marker for plan in PLAN.values() for marker in plan.jobs],
        expand(
            "figures/{scale}/{paper}/{kind}",
            scale=SCALE,
            paper=PAPERS,
            kind=(
                "sensitivity.md",
                "sensitivity.json",
                "certificate.md",
                SPECIFICATIONS,
            ),
        ),
