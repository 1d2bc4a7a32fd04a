"""`python -m workflow`: the programs of the workflow, each started by `python -m workflow.NAME`."""

from pathlib import Path

PACKAGES = ("run", "site")  # rooms that are programs, too
PROGRAMS = sorted(
    [*PACKAGES, *(path.stem for path in Path(__file__).parent.glob("commands/[a-z]*.py"))]
)

if __name__ == "__main__":
    print(
        "\n".join(
            [
                "usage: python -m workflow.PROGRAM --help",
                "programs:",
                *(f"  {name}" for name in PROGRAMS),
            ]
        )
    )
