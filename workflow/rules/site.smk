# The static site of what a scale has drawn, and the list of runs that it shows. Each scale has a site of its own: `make site`
# writes report/reference, which no rule may take for its output.


rule inventory:
    input:
        all_sources,
    output:
        "figures/{scale}/{paper}/runs.json",
    log:
        "logs/{scale}/{paper}/runs.log",
    conda:
        "../../envs/core.yaml"
    threads: 1
    resources:
        mem_mb=1500,
        runtime=15,
    params:
        only=ONLY,
        code=code_of("operate.inventory", lambda plan, _: {"entry": plan.entry}),
    shell:
        "python -m workflow.inventory {wildcards.paper} --scale {wildcards.scale} {params.only} 2> {log}"


rule site:
    input:
        [path for name in PAPERS for path in report_files(PLAN[name])],
        "papers/findings.yaml",
    output:
        f"report/{SCALE}/index.html",
    log:
        f"logs/{SCALE}/site.log",
    conda:
        "../../envs/core.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        scale=SCALE,
        papers=",".join(PAPERS),
        code=lambda _: digest.digest(["workflow.site.build"], {}),
    shell:
        "python -m workflow.site --from figures/{params.scale} --papers {params.papers} -o report/{params.scale} 2> {log}"


rule report:
    input:
        rules.site.input,  # Snakemake makes no lost picture again for the sake of a page that is there
        rules.site.output,
