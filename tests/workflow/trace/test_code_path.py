"""The code path of the CPU is the one that the libraries of this process have chosen."""

import platform

import pytest
from threadpoolctl import threadpool_limits

from tests.workflow.trace.processes import printed
from workflow.trace import code_path, one_path, record

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
    assert code_path.differences(slow, fast) == [
        ("openblas of numpy", OLDEST, "Haswell"),
        ("openblas of scipy", OLDEST, "Haswell"),
        ("PyTorch", "DEFAULT", "AVX2"),
    ]


def test_what_the_environment_forbids_is_not_found():
    named = elsewhere("import numpy")["numpy"]["found"]
    if not named:
        pytest.skip("this processor has no features beyond the baseline")
    fewer = elsewhere("import numpy", NPY_DISABLE_CPU_FEATURES=named[-1])["numpy"]["found"]
    assert fewer == named[:-1]
    asked = elsewhere("import torch", MKL_CBWR="COMPATIBLE")["torch"]["asked"]
    assert asked == {"MKL_CBWR": "COMPATIBLE"}


def test_paths_are_compared_by_what_both_name():
    arms = {"blas": [BLAS], "numpy": NUMPY}
    box = {"blas": [BLAS, {**BLAS, "library": "scipy"}], "numpy": NUMPY, "torch": TORCH}
    assert code_path.differences(arms, box) == code_path.differences(box, arms) == []
    assert code_path.differences({}, box) == []
    other = {**box, "torch": {**TORCH, "capability": "AVX512", "asked": {"MKL_CBWR": "AVX2"}}}
    assert code_path.differences(box, other) == [
        ("PyTorch", "AVX2", "AVX512"),
        ("MKL_CBWR of PyTorch", "unset", "AVX2"),
    ]
    newer = {"blas": [{**BLAS, "version": "0.4", "threads": 8}]}
    named = ("version of openblas of numpy", "0.3", "0.4")
    assert code_path.differences(arms, newer) == [named]
    wider = {"numpy": {**NUMPY, "found": ["X86_V3", "X86_V4"]}}
    assert code_path.differences(arms, wider) == [("NumPy", "X86_V3", "X86_V3 X86_V4")]
    assert code_path.words(arms) == "Zen"
    assert code_path.words({}) == "unnamed code path"


def test_the_remedy_takes_the_path_of_a_record(monkeypatch):
    """If variables can; what this processor lacks it cannot be told to have."""
    monkeypatch.setattr(one_path, "features", lambda: ["X86_V3", "X86_V4"])
    blas = [BLAS, {**BLAS, "library": "scipy"}]
    here = {"blas": blas, "numpy": NUMPY, "torch": TORCH}
    assert code_path.remedy(here, here) == ""
    assert code_path.variables(here, here) == {}

    def under(*said):
        return f"under {one_path.INSTEAD}='{' '.join(said)}'"

    without = "NPY_DISABLE_CPU_FEATURES=X86_V4"
    other = {**here, "blas": [{**one, "architecture": "Haswell"} for one in blas]}
    haswell = ("OPENBLAS_CORETYPE=Haswell", "ATEN_CPU_CAPABILITY=avx2", without)
    assert code_path.remedy(other, here) == under(*haswell)
    other = {**other, "torch": {**TORCH, "capability": "DEFAULT", "asked": {"MKL_CBWR": "AVX"}}}
    asked = ("OPENBLAS_CORETYPE=Haswell", "ATEN_CPU_CAPABILITY=default", "MKL_CBWR=AVX", without)
    assert code_path.remedy(other, here) == under(*asked)
    # what the record was not asked for is not named, and so unset
    zen = ("OPENBLAS_CORETYPE=Zen", "ATEN_CPU_CAPABILITY=avx2", without)
    forbidden = {**here, "torch": {**TORCH, "asked": {"MKL_CBWR": "AVX"}}}
    assert code_path.remedy(here, forbidden) == under(*zen)
    wider = {**here, "numpy": {**NUMPY, "found": ["X86_V3", "X86_V4"]}}
    assert code_path.remedy(here, wider) == under(*zen)
    assert code_path.remedy(wider, here) == under(*zen[:2])
    widest = {**here, "numpy": {**NUMPY, "found": ["X86_V3", "X86_V4", "AVX512_ICL"]}}
    assert code_path.remedy(widest, here) == f"on a processor with AVX512_ICL {under(*zen[:2])}"
    newer = {**here, "blas": [{**one, "version": "0.4"} for one in blas]}
    assert code_path.remedy(newer, here) == ""


def test_a_processor_of_another_maker_matters_to_mkl_alone():
    one = {"torch": {**TORCH, "maker": "AMD"}}
    here = {"torch": TORCH}
    assert code_path.differences(one, here) == [(code_path.MAKER, "AMD", "Intel")]
    assert code_path.remedy(one, here) == "on a processor of AMD"
    assert code_path.variables(one, here) == {}
    compatible = {"torch": {**TORCH, "asked": {"MKL_CBWR": "COMPATIBLE"}}}
    same = {"torch": {**compatible["torch"], "maker": "AMD"}}
    assert code_path.differences(compatible, same) == []
    # the path of before needs the maker, whatever is asked of MKL here
    assert code_path.variables(one, compatible) == {}
    assert code_path.remedy(one, compatible).startswith("on a processor of AMD under ")
    assert code_path.variables(compatible, one) != {}


def test_threads_are_counted():
    assert code_path.threads({"blas": [BLAS], "torch": TORCH}) == 3
    assert code_path.threads({"blas": []}) is None
    with threadpool_limits(1, user_api="blas"):
        assert record.provenance()["threads"] == 1
    with threadpool_limits(2, user_api="blas"):
        assert code_path.threads(code_path.now()) == 2
