"""Every run has the kernels of one code path, whatever its user has set."""

import json
import os
import platform
import re

import pytest

from tests import programs
from workflow.plan.resolve import ROOT
from workflow.trace import one_path

PRINT = (
    "import json, os, sys; from threadpoolctl import threadpool_info;"
    " from workflow.trace import one_path;"
    " blas = [one['architecture'] for one in threadpool_info() if one['user_api'] == 'blas'];"
    " torch = sys.modules.get('torch');"
    " numpy = 'numpy' in sys.modules and sys.modules['numpy'].show_config('dicts');"
    " print(json.dumps([one_path.words(), {'blas': blas,"
    " 'torch': torch and torch.backends.cpu.get_cpu_capability(),"
    " 'numpy': numpy and numpy['SIMD Extensions'].get('found', [])},"
    " {name: os.environ.get(name) for name in one_path.NAMES}]))"
)
LIBRARIES = "import numpy, scipy.linalg, torch"
TAKE = "from workflow.trace import one_path; one_path.take()"
USERS = {  # what users, or their machines, may have set
    "OPENBLAS_CORETYPE": "Prescott",
    "OPENBLAS_L2_SIZE": "1024",
    "ATEN_CPU_CAPABILITY": "default",
    "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
    "NPY_ENABLE_CPU_FEATURES": "X86_V3",
    "XLA_FLAGS": "--xla_cpu_max_isa=SSE4_2",
}
on_x86 = pytest.mark.skipif(
    "AVX2" not in one_path.features() and "X86_V3" not in one_path.features(),
    reason="needs a processor with the kernels of x86-64-v3",
)


def elsewhere(*lines, **environment):
    """What a process of its own says after some lines of code, since a library that is loaded keeps
    its kernels; of what chooses kernels only `environment` is set.
    """
    kept = {name: value for name, value in os.environ.items() if name not in one_path.NAMES}
    command = ("-W", "error::ImportWarning", "-c", "; ".join([*lines, PRINT]))
    done = programs.python(*command, env={**kept, **environment}, encoding="utf-8", check=True)
    return json.loads(done.stdout)


@on_x86
def test_whatever_the_user_has_set_the_kernels_are_the_same():
    said, plain, environment = elsewhere(TAKE, LIBRARIES)
    assert said == one_path.LEVEL
    assert plain["blas"] == ["Haswell", "Haswell"] and plain["torch"] == "AVX2"
    assert not set(plain["numpy"]) - one_path.WITHIN
    assert environment["MKL_CBWR"] == "COMPATIBLE"
    assert environment["XLA_FLAGS"] == "--xla_cpu_max_isa=AVX2"
    assert [said, plain, environment] == elsewhere(TAKE, LIBRARIES, **USERS)
    assert elsewhere(LIBRARIES, **{**USERS, "NPY_ENABLE_CPU_FEATURES": ""})[1] != plain


ROOTS = """
import numpy as np, torch
found = np.random.default_rng(0).random((50, 60))
given = torch.from_numpy(found.copy())
roots = [given.sqrt(), given.T.sqrt().T, torch.sqrt(given, out=torch.empty(0).double())]
roots += [torch.func.vmap(torch.sqrt)(given), given.clone().sqrt_()]
unequal = [int((one.numpy() != np.sqrt(found)).sum()) for one in roots]
small = given[0, :9].clone().requires_grad_()
exact = torch.autograd.gradcheck(torch.sqrt, (small,))
others = [torch.tensor(4).sqrt(), torch.tensor([4.0], dtype=torch.bfloat16).sqrt()[0]]
print(unequal, exact, *map(float, others), float(torch.tensor(-1.0).sqrt()))
"""


@on_x86
def test_square_roots_of_pytorch_are_rounded_correctly():
    """Those of MKL are not, and differ by the maker of the processor."""
    done = programs.python("-W", "error", "-c", f"{TAKE}\n{ROOTS}", check=True)
    assert done.stdout == "[0, 0, 0, 0, 0] True 2.0 2.0 nan\n"
    assert done.stderr == ""


def of_rules():
    """What the rules import, which every job reads anew."""
    paths = [ROOT / "Snakefile", *(ROOT / "workflow" / "rules").glob("*.smk")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    lines = re.findall(r"^(?:from workflow\S* )?import (?:\([^)]*\)|.+)", text, re.MULTILINE)
    assert any("workflow.data.places" in line for line in lines)
    return "\n".join(lines)


PLAN = "from workflow.plan import expand; expand.load('bbkb', 'paper')"
BEGINNINGS = {"rules": of_rules(), "plan": PLAN, "job": "import workflow.run.job"}


@pytest.mark.parametrize("beginning", BEGINNINGS)
def test_no_numerical_library_is_loaded_before_kernels_are_chosen(beginning):
    heavy = "{'numpy', 'scipy', 'torch', 'pyarrow', 'pandas', 'sklearn'} & set(sys.modules)"
    code = f"{BEGINNINGS[beginning]}\nimport sys; print(*{heavy})"
    assert programs.python("-c", code, cwd=ROOT, check=True).stdout.split() == []


START = """
import contextlib, runpy, sys
sys.argv[1:] = ["--help"]
with contextlib.suppress(SystemExit), contextlib.redirect_stdout(None):
    runpy.run_module("workflow.{}", run_name="__main__")
"""


@on_x86
@pytest.mark.parametrize("program", ["report", "reference"])
def test_a_report_has_the_kernels_of_every_machine(program):
    said, _, environment = elsewhere(f"exec({START.format(program)!r})", **USERS)
    assert said == one_path.LEVEL and environment["OPENBLAS_CORETYPE"] == "Haswell"


def test_a_library_that_came_first_is_told():
    said = elsewhere("import numpy", TAKE)[0]
    assert said == f"{one_path.OWN} in numpy, loaded before others were asked for"
    assert elsewhere()[0] == f"{one_path.OWN}: nobody has asked for others"


@pytest.mark.parametrize(
    ("machine", "has", "said"),
    [
        ("aarch64", {"NEON": True}, "aarch64 is not x86-64"),
        ("x86_64", {"AVX2": False, "FMA3": True}, "it has no AVX2, which x86-64-v3 needs"),
        ("x86_64", {"SSE42": True}, "it has no AVX2 and no FMA3, which x86-64-v3 needs"),
        ("x86_64", {}, "NumPy does not say what this processor has"),
    ],
)
def test_a_processor_without_them_has_its_own_and_says_so(monkeypatch, machine, has, said):
    monkeypatch.setattr(one_path, "_asked", lambda: (has, []))
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(one_path, "_said", None)
    monkeypatch.setattr(one_path, "LIBRARIES", ())
    before = dict(os.environ)
    try:
        os.environ["OPENBLAS_CORETYPE"] = "Prescott"
        one_path.take()
        assert not [name for name in one_path.NAMES if name in os.environ]
    finally:
        os.environ.clear()
        os.environ.update(before)
    assert one_path.words() == f"{one_path.OWN}: {said}"


@pytest.mark.parametrize(
    ("dispatched", "disabled"),
    [
        (["X86_V3", "X86_V4", "AVX512_ICL"], {"NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL"}),
        # names of NumPy before 2.4, and those of one maker
        (["SSE41", "XOP", "FMA4", "AVX2", "AVX512F"], {"NPY_DISABLE_CPU_FEATURES": "FMA4 AVX512F"}),
        (["X86_V3"], {}),
    ],
)
def test_numpy_is_forbidden_what_it_and_the_processor_have_and_no_more(
    monkeypatch, dispatched, disabled
):
    """NumPy warns of names that it does not know, or that the processor lacks."""
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    has = {**dict.fromkeys(dispatched, True), "AVX2": True, "FMA3": True, "XOP": False}
    monkeypatch.setattr(one_path, "_asked", lambda: (has, dispatched))
    assert one_path._chosen() == ({**one_path.FIXED, **disabled}, one_path.LEVEL)
