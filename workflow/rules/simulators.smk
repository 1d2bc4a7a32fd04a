# Simulators of our own; only the runs wait for one whose problem names it. What its source includes and is linked with comes
# from the system: its leading comment names the packages.


rule simulator:
    """Build a simulator of ours from its source."""
    input:
        local("simulators/{name}.cc"),
    output:
        "simulators/build/{name}",
    log:
        "logs/simulators/{name}.log",
    conda:
        "../../envs/core.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    shell:
        "python -m workflow.simulators {wildcards.name} -o {output} 2>&1 | tee {log} >&2"
