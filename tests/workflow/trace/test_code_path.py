"""The code path of the CPU is the one that the libraries of this process have chosen."""

import platform

import pytest

from tests.workflow.trace.processes import printed
from workflow.trace import code_path

PRINT = "; ".join(
    ["import json", "from workflow.trace import code_path", "print(json.dumps(code_path.now()))"]
)
OLDEST = "Katmai"  # what OpenBLAS calls the kernels that it also finds under the name Prescott
BLAS = {
    "library": "numpy",
    "name": "openblas",
    "version": "0.3",
    "architecture": "Zen",
    "threads": 1,
}
TORCH = {"capability": "AVX2", "threads": 3, "mkl": "2024.2", "maker": "Intel", "asked": {}}
NUMPY = {"baseline": ["X86_V2"], "found": ["X86_V3"]}


def elsewhere(*lines, **environment):
    """What a process of its own, with the kernels of this processor, says after lines of code."""
    return printed(*lines, PRINT, environment=environment)


def test_every_library_is_named_that_is_loaded_and_no_other():
    nothing = elsewhere()
    assert nothing == {"blas": []}
    numpy = elsewhere("import numpy")
    assert [one["library"] for one in numpy["blas"]] == ["numpy"]
    assert set(numpy) == {"blas", "numpy"}
    everything = elsewhere("import numpy", "import scipy.linalg", "import torch")
    assert [one["library"] for one in everything["blas"]] == ["numpy", "scipy"]
    named = {"capability", "threads", "mkl", "maker", "asked"}
    assert set(everything["torch"]) == named and "" not in everything["torch"].values()
    assert everything["torch"]["capability"] in ("DEFAULT", "AVX2", "AVX512", "NO AVX")
    assert elsewhere("import scipy.linalg", "import torch") == everything


def test_a_library_that_is_loaded_later_is_named_from_then_on():
    early = "import numpy; from workflow.trace import code_path; code_path.now()"
    found = elsewhere(early, "import scipy.linalg")
    assert [one["library"] for one in found["blas"]] == ["numpy", "scipy"]


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="names of x86 kernels")
def test_it_says_which_kernels_were_chosen():
    lines = ("import scipy.linalg", "import torch")
    slow = elsewhere(*lines, OPENBLAS_CORETYPE="Prescott", ATEN_CPU_CAPABILITY="default")
    fast = elsewhere(*lines, OPENBLAS_CORETYPE="Haswell", ATEN_CPU_CAPABILITY="avx2")
    assert {one["architecture"] for one in slow["blas"]} == {OLDEST}
    assert code_path.words(slow) == f"{OLDEST} + DEFAULT"
    assert code_path.words(fast) == "Haswell + AVX2"
    was, now = code_path.parts(slow), code_path.parts(fast)
    assert {name: (was[name], now[name]) for name in was if was[name] != now[name]} == {
        "openblas of numpy": (OLDEST, "Haswell"),
        "openblas of scipy": (OLDEST, "Haswell"),
        "PyTorch": ("DEFAULT", "AVX2"),
    }


def test_what_the_environment_forbids_is_not_found():
    named = elsewhere("import numpy")["numpy"]["found"]
    if not named:
        pytest.skip("this processor has no features beyond the baseline")
    fewer = elsewhere("import numpy", NPY_DISABLE_CPU_FEATURES=named[-1])["numpy"]["found"]
    assert fewer == named[:-1]
    asked = elsewhere("import torch", MKL_CBWR="COMPATIBLE")["torch"]["asked"]
    assert asked == {"MKL_CBWR": "COMPATIBLE"}


def test_what_decides_bits_is_named_by_who_chose_it():
    """Threads decide none; the processor's maker does unless MKL is asked for kernels of all."""
    box = {"blas": [BLAS, {**BLAS, "library": "scipy"}], "numpy": NUMPY, "torch": TORCH}
    assert code_path.parts(box) == {
        "openblas of numpy": "Zen",
        "version of openblas of numpy": "0.3",
        "openblas of scipy": "Zen",
        "version of openblas of scipy": "0.3",
        "PyTorch": "AVX2",
        "version of MKL in PyTorch": "2024.2",
        code_path.MAKER: "Intel",
        "MKL_CBWR of PyTorch": "unset",
        "MKL_ENABLE_INSTRUCTIONS of PyTorch": "unset",
        "ONEDNN_MAX_CPU_ISA of PyTorch": "unset",
        "NumPy": "X86_V3",
    }
    compatible = code_path.parts({"torch": {**TORCH, "asked": {"MKL_CBWR": "COMPATIBLE"}}})
    assert code_path.MAKER not in compatible
    assert compatible["MKL_CBWR of PyTorch"] == "COMPATIBLE"
    assert code_path.words({"blas": [BLAS]}) == "Zen"
    assert code_path.words({}) == "unnamed code path"
