# Claims by readings. The verdicts wait for all runs of their paper, those under its readings among them; the matrix reads the
# verdicts alone.


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


rule readings:
    input:
        [marker for plan in PLAN.values() for marker in plan.jobs],
        expand(
            "figures/{scale}/{paper}/sensitivity.{kind}",
            scale=SCALE,
            paper=PAPERS,
            kind=("md", "json"),
        ),
