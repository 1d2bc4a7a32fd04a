import os

# Both rules take NOREGRET_DATA (a mirror) before the canonical URLs. Naming another mirror fetches anew, so that a
# substitute gives way to the real data as soon as they can be had. Time and memory are those of the largest file (0.5 GB).


rule fetch:
    output:
        "data/prepared/{name}.parquet",
    log:
        "logs/fetch/{name}.log",
    conda:
        "../../envs/core.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=120,
    shell:
        "python -m workflow.fetch {wildcards.name} -o {output} 2>&1 | tee {log} >&2"


rule fetch_or_substitute:
    output:
        "data/prepared/or-substitute/{name}.parquet",
    log:
        "logs/fetch/{name}-or-substitute.log",
    conda:
        "../../envs/core.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=120,
    params:
        mirror=os.environ.get("NOREGRET_DATA", ""),
    shell:
        "python -m workflow.fetch {wildcards.name} --substitutes allowed -o {output} 2>&1 | tee {log} >&2"
