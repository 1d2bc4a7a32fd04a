from workflow.data.places import mirror_as_shown

# Both rules take a verified raw file, then one in data/shipped, NOREGRET_DATA (a mirror), the canonical URLs; NOREGRET_SUBSTITUTES=preferred
# leaves out every server. What may be a substitute has a place of its own, whichever files exist, so that all jobs of a
# workflow read the same table; a real one that was prepared before is copied there. It is made anew when another mirror is
# named, downloads are allowed again or the real table has come, so that a substitute gives way to the real data as soon as
# they can be had. They run where the workflow was started: nodes of a cluster may see no internet, and no mirror in a folder.
# Time and memory are those of the largest file (0.5 GB).


rule fetch:
    """Prepare a real table of a data set."""
    output:
        "data/prepared/{name}.parquet",
    log:
        "logs/fetch/{name}.log",
    priority: 1000
    localrule: True
    conda:
        "../../envs/core.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=120,
    shell:
        "python -m workflow.fetch {wildcards.name} -o {output} 2>&1 | tee {log} >&2"


rule fetch_or_substitute:
    """Prepare the real table of a data set, or a labelled substitute."""
    output:
        "data/prepared/or-substitute/{name}.parquet",
    log:
        "logs/fetch/{name}-or-substitute.log",
    priority: 1000
    localrule: True
    conda:
        "../../envs/core.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=120,
    params:
        mirror=mirror_as_shown(),  # Snakemake keeps it
        downloads=downloads_allowed(),
        superseded=lambda wildcards: superseded(wildcards.name, root=Path()),
    shell:
        "python -m workflow.fetch {wildcards.name} --substitutes allowed -o {output} 2>&1 | tee {log} >&2"
