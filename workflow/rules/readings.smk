# Claims by readings. The verdicts wait for all runs of their paper, those under its readings among them; the matrix reads the
# verdicts alone, and so does its picture. The certificate reads records, too, for pairs of readings and for printed numbers.


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


rule settings_map:
    input:
        "figures/{scale}/{paper}/verdicts.json",
    output:
        "figures/{scale}/{paper}/claims-by-settings.png",
    log:
        "logs/{scale}/{paper}/settings.log",
    conda:
        "../../envs/core.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        code=code_of("draw.settings_map", lambda plan, _: {}),
    shell:
        "python -m workflow.settings_map {wildcards.paper} --scale {wildcards.scale} 2> {log}"


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
                "claims-by-settings.png",
            ),
        ),
