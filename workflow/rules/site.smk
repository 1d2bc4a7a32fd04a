# The static site of what a scale has drawn. Each scale has a site of its own: `make site` writes report/reference, which no rule
# may take for its output.


rule site:
    """Write the pages of what a scale has drawn."""
    input:
        [path for name in PAPERS for path in report_files(PLAN[name])],
    output:
        f"report/{SCALE}/index.html",
    log:
        f"logs/{SCALE}/site.log",
    localrule: True
    conda:
        "../../envs/core.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=5,
    params:
        scale=lambda _: SCALE,
        papers=",".join(PAPERS),
        code=lambda _: digest.digest(["workflow.site.build"], {}),
    shell:
        "python -m workflow.site --from figures/{params.scale} --papers {params.papers} -o report/{params.scale} 2> {log}"


rule report:
    """The pages, and everything that they show."""
    input:
        rules.site.input,  # Snakemake makes no lost picture again for the sake of a page that is there
        rules.site.output,
