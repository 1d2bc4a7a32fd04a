"""Simulators in C++: how they are built, who waits for them, whose digest knows them."""

import shutil
from pathlib import Path

import pytest

from tests.workflow import checkout
from workflow.data import simulators
from workflow.data.simulators import SimulatorUnavailable
from workflow.measure.store import Store
from workflow.plan import resolve
from workflow.plan.paper import Paper
from workflow.plan.parameters import Parameter
from workflow.run import instance
from workflow.trace.curves import Curve, PlanError

ROOT = Path(__file__).resolve().parents[3]
SOURCE = "// A toy.\n//\n// packages: libtoy-dev\n// libraries: m toy\n\nint main() { return 0; }\n"
ENTRY = {"is": "wlan.shannon_capacity", "topology": "twelve", "interference": "neighbours"}
ENTRY |= {"scale": "linear", "bandwidth": 1, "noise": 0}
ENTRY |= {"budget": 4, "room": 1, "init": {"design": "uniform", "n": 1}}
NS3 = {**ENTRY, "backend": "ns3", "simulator": "ns3_wlan"}
PROGRAM = '#!/bin/sh\n[ "$1" = --version ] && echo ns-0 && exit 0\nseq -s " " 36\n'
COMPILER = f"""#!/bin/sh
while [ "$1" != -o ]; do shift; done
cat > "$2" <<'END'
{PROGRAM}END
chmod +x "$2"
"""
MINI = """
paper: {key: mini, title: A tiny paper, venue: nowhere}
scales: {smoke: {}, short: {}, paper: {}}
seeds: 1
problems:
  wlan: {is: wlan.shannon_capacity, topology: twelve, interference: neighbours, scale: linear,
    backend: closed-form, bandwidth: 1,
         noise: 0, budget: 3, room: 1, optimum: best-seen, init: {design: uniform, n: 1}}
algorithms: {uniform: {is: random_search.RandomSearch}}
readings: {in-ns3: {says: powers from ns-3, problems: {wlan: {backend: ns3, simulator: ns3_wlan}}}}
runs: [{}, {readings: [in-ns3]}]
figures:
  - {id: capacity, metric: best_feasible, curves: [uniform], panels: [{problem: wlan}]}
  - {id: ns3, metric: best_feasible, curves: [uniform], panels: [{problem: wlan@in-ns3}]}
"""


def curve(**changes):
    problem, algorithm = {**NS3, **changes}, {"is": "random_search.RandomSearch"}
    named = {"paper": "toy", "scale": "paper", "problem": "wlan", "algorithm": "uniform"}
    named |= {"problem_entry": problem, "algorithm_entry": algorithm, "seeds": (0,), "budget": 4}
    return Curve(**named, digest=resolve.curve_digest(problem, algorithm, 4))


def executable(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def failing(said):
    """A compiler that fails, and what it says."""
    return f"#!/bin/sh\necho '{said}' >&2\nexit 1\n"


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A folder with the source of one simulator; `compiler(text)` makes a script the compiler."""
    (tmp_path / "simulators").mkdir()
    (tmp_path / "simulators" / "toy.cc").write_text(SOURCE)

    def compiler(text):
        monkeypatch.setenv("CXX", str(executable(tmp_path / "compiler", text)))

    return tmp_path, compiler


# building


def test_a_simulator_is_linked_with_what_its_source_names(toy):
    root, compiler = toy
    compiler('#!/bin/sh\necho "$@" > "${0%/*}"/asked\n' + COMPILER.partition("\n")[2])
    output = simulators.binary("toy", root=root)
    simulators.build("toy", output, root=root)
    assert output == root / "simulators" / "build" / "toy" and output.read_text() == PROGRAM
    asked = (root / "asked").read_text().split()
    assert asked[-3:] == [str(root / "simulators" / "toy.cc"), "-lm", "-ltoy"]
    assert list(output.parent.iterdir()) == [output]
    assert simulators.built("toy", root=root) == output


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (failing("toy.cc:1: fatal error: toy.h"), r"g\+\+ libtoy-dev\)\n  toy.cc:1: .*: toy.h"),
        (failing("/usr/bin/ld: cannot find -ltoy"), "libtoy-dev(.|\n)*cannot find -ltoy"),
        ("#!/nowhere\n", r"toy.cc: cannot be built: it needs a C\+\+ compiler and libtoy-dev"),
    ],
)
def test_what_is_missing_is_named_with_its_package(toy, text, message):
    root, compiler = toy
    compiler(text)
    output = executable(simulators.binary("toy", root=root), "of before")
    with pytest.raises(SimulatorUnavailable, match=message):
        simulators.build("toy", output, root=root)
    assert output.read_text() == "of before" and list(output.parent.iterdir()) == [output]


def test_an_unknown_source_and_one_that_names_no_libraries_are_refused(toy):
    root, _ = toy
    (root / "simulators" / "bare.cc").write_text("int main() { return 0; }\n")
    for name, message in [
        ("toys", "toys.cc: expected the source of a simulator, found none; known: bare, toy$"),
        ("bare", r"expected a comment `// libraries: \.\.\.`, found none: add one"),
    ]:
        with pytest.raises(SimulatorUnavailable, match=message):
            simulators.build(name, root / name, root=root)


def test_the_command_reports_and_fails(toy, monkeypatch, capsys):
    root, compiler = toy
    monkeypatch.chdir(root)
    compiler("#!/bin/sh\nexit 1\n")
    assert simulators.main(["toy"]) == 1
    assert "error: simulators/toy.cc: cannot be built" in capsys.readouterr().err
    compiler(COMPILER)
    assert simulators.main(["toy"]) == 0 and simulators.main(["toy", "-o", "other"]) == 0
    assert Path("other").read_text() == Path("simulators/build/toy").read_text() == PROGRAM


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
def test_a_real_compiler_makes_a_program(toy, monkeypatch):
    root, _ = toy
    monkeypatch.delenv("CXX", raising=False)
    (root / "simulators" / "toy.cc").write_text(
        "// packages: none\n// libraries: m\n#include <cstdio>\nint main() {"
        ' std::puts("toy-1"); }\n'
    )
    simulators.build("toy", root / "toy", root=root)
    assert len(simulators.version_sha256(root / "toy")) == 64


def test_a_simulator_that_cannot_say_its_version_is_refused(tmp_path):
    for path in (tmp_path / "none", executable(tmp_path / "broken", "#!/bin/sh\nexit 1\n")):
        message = f"{path.name}: expected a simulator that says its version, got"
        with pytest.raises(SimulatorUnavailable, match=message):
            simulators.version_sha256(path)


def test_every_source_says_what_it_needs():
    for source in (ROOT / "simulators").glob("*.cc"):
        assert simulators._listed(source, "packages") and simulators._listed(source, "libraries")


# whose digest knows it


def test_only_the_entry_that_names_a_simulator_has_its_source_in_its_digest(tmp_path, monkeypatch):
    closed = {**ENTRY, "backend": "closed-form"}
    assert set(resolve.problem_identity(closed)) == {"problem", "libraries"}
    before = resolve.problem_identity(NS3)
    source = resolve.source_sha256("ns3_wlan")
    assert before == {"problem": NS3, "libraries": {}, "simulator": source}
    digest = curve().digest
    (tmp_path / "simulators").mkdir()
    place = Path("simulators", "ns3_wlan.cc")
    (tmp_path / place).write_text((ROOT / place).read_text() + "// a remark\n")
    monkeypatch.setattr(resolve, "ROOT", tmp_path)
    assert resolve.problem_identity(NS3)["simulator"] != before["simulator"]
    assert curve().digest != digest


def test_mistakes_are_named():
    with pytest.raises(PlanError, match="unknown simulator 'ns4'; known: ns3_wlan"):
        resolve.problem_identity({**NS3, "simulator": "ns4"})
    known = {"noise": Parameter(required=True, annotation="float")}
    entry = {"is": "additive.hartmann", "noise": 0, "simulator": "ns3_wlan"}
    message = r"p: additive\.hartmann runs no simulator: leave out `simulator: ns3_wlan`"
    with pytest.raises(PlanError, match=message):
        resolve.check(entry, known, "p")


def test_the_problem_is_told_the_place_of_its_simulator(tmp_path, monkeypatch):
    monkeypatch.setattr(
        instance.problems, "load", lambda name: lambda draw, **parameters: parameters
    )
    message = "expected a simulator, found none: run `python -m workflow.simulators ns3_wlan`"
    with pytest.raises(SimulatorUnavailable, match=message):
        instance.build_problem(curve(), 0, tmp_path)
    path = executable(tmp_path / "simulators" / "build" / "ns3_wlan", PROGRAM)
    told = instance.build_problem(curve(), 0, tmp_path)
    assert told["simulator"] == path and told["backend"] == "ns3" and "budget" not in told


def test_the_report_knows_the_version_that_a_record_was_made_with(tmp_path):
    made = curve()
    curves = {("wlan", "uniform"): made}
    store = Store(Paper("toy", "paper", {"scales": {"paper": {}}}, (made,), curves, {}), tmp_path)
    with pytest.raises(SimulatorUnavailable, match="expected a simulator, found none"):
        store.data_sha256(made)
    path = executable(tmp_path / "simulators" / "build" / "ns3_wlan", PROGRAM)
    assert store.data_sha256(made) == simulators.version_sha256(path)
    path.write_text(PROGRAM.replace("ns-0", "ns-1"))
    assert store.data_sha256(made) == simulators.version_sha256(path)


# who waits for it


@pytest.mark.slow
def test_only_runs_that_need_it_wait_for_it(tmp_path, monkeypatch):
    """The whole DAG with a compiler that only pretends."""
    copy = checkout.make(tmp_path)
    (copy / "papers" / "mini.yaml").write_text(MINI)
    ignored = shutil.ignore_patterns("build")
    shutil.copytree(ROOT / "simulators", copy / "simulators", ignore=ignored)
    none = executable(tmp_path / "none", failing("fatal error: ns3/core-module.h"))
    monkeypatch.setenv("CXX", str(none))
    checkout.made(copy, "figures/smoke/mini/capacity.csv")
    assert not (copy / "simulators" / "build").exists()
    failed = checkout.snakemake(copy, "figures/smoke/mini/ns3.csv")
    assert failed.returncode != 0
    assert "apt-get install g++ libns3-dev" in failed.stderr + failed.stdout
    monkeypatch.setenv("CXX", str(executable(tmp_path / "compiler", COMPILER)))
    checkout.made(copy, "figures/smoke/mini/ns3.csv")
    assert list((copy / "results/smoke/mini/wlan@in-ns3/uniform").glob("*.parquet"))
