"""What a run depends on: an edit of an algorithm touches its runs, one of a comment none."""

import itertools
import shutil

import pytest

from workflow.plan import digest, expand, resolve
from workflow.plan.resolve import ROOT
from workflow.trace.curves import with_data

PARAMETERS = {"lam": 1e-4, "bandwidth": 17.5}
ALGORITHMS = sorted(
    path.stem
    for path in (ROOT / "algorithms").glob("*.py")
    if path.stem != "api" and not path.stem.startswith("_")
)


@pytest.fixture
def copies(tmp_path):
    """copies(edits) -> a copy of the packages with {file: (old, new)} applied; None appends."""
    made = iter(range(100))

    def build(edits=()):
        root = tmp_path / str(next(made))
        for package in digest.PACKAGES:
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / package, root / package, ignore=ignored)
        for file, (old, new) in dict(edits).items():
            text = (root / file).read_text()
            assert old is None or old in text
            (root / file).write_text(text + new if old is None else text.replace(old, new, 1))
        return root

    return build


def digests(root):
    """Of every algorithm, run on the tables."""
    shared = ["problems.tables", "workflow.run.loop"]
    return {
        name: digest.digest([f"algorithms.{name}", *shared], PARAMETERS, root=root)
        for name in ALGORITHMS
    }


def changed(root, reference):
    return {name for name, value in digests(root).items() if value != reference[name]}


def test_a_copy_has_the_same_digests_and_every_algorithm_its_own(copies):
    here = digests(ROOT)
    assert digests(copies()) == here
    assert len(set(here.values())) == len(ALGORITHMS) >= 7


def test_comments_docstrings_and_layout_change_nothing(copies):
    edits = {
        "algorithms/bkb.py": ('"""BKB: budgeted', '"""Rewritten: budgeted'),
        "algorithms/gp_ucb.py": (None, "\n\n# a comment\n"),
        "algorithms/parts/arms/exact.py": ('"""Condition on one', '"""Anything else about one'),
        "algorithms/api.py": ("    d: int", "    d: int   # the dimension"),
        "problems/tables.py": ('"""Every row with Euclidean norm 1."""', '"""On the sphere."""'),
        "workflow/run/loop.py": ("import annotations\n", "import annotations\n\n\n"),
    }
    assert changed(copies(edits), digests(ROOT)) == set()


def test_an_edit_of_one_algorithm_changes_that_one_alone(copies):
    """Edits of half of them at a time: any two are apart in some half and in its rest."""
    reference, bits = digests(ROOT), range(len(ALGORITHMS).bit_length())
    for bit, which in itertools.product(bits, (0, 1)):
        half = {name for number, name in enumerate(ALGORITHMS) if number >> bit & 1 == which}
        edits = {f"algorithms/{name}.py": (None, "\nEXTRA = 1\n") for name in half}
        assert changed(copies(edits), reference) == half


def test_a_changed_constant_inside_a_function_counts(copies):
    edits = {"algorithms/bbkb.py": ("drift = 1.0", "drift = 1.5")}
    assert changed(copies(edits), digests(ROOT)) == {"bbkb"}


@pytest.mark.parametrize(
    ("file", "touched"),
    [
        ("algorithms/api.py", set(ALGORITHMS)),
        ("problems/tables.py", set(ALGORITHMS)),
        ("workflow/run/loop.py", set(ALGORITHMS)),
        ("workflow/__init__.py", set(ALGORITHMS)),
        ("algorithms/parts/numerics/linalg.py", set(ALGORITHMS) - {"random_search"}),
        ("algorithms/parts/arms/sketch.py", set(ALGORITHMS) - {"random_search"}),
        ("algorithms/parts/search/bounds.py", {"async_ts", "bbkb", "bkb", "gp_bucb", "gp_ucb"}),
        ("problems/__init__.py", set(ALGORITHMS)),
    ],
)
def test_an_edit_of_a_shared_file_changes_all_that_reach_it(copies, file, touched):
    found = changed(copies({file: (None, "\nEXTRA = 1\n")}), digests(ROOT))
    assert found & KNOWN == touched & KNOWN


KNOWN = {"async_ts", "bbkb", "bkb", "eps_greedy", "gp_bucb", "gp_ucb", "random_search"}


def test_a_file_that_nothing_reaches_changes_nothing(copies):
    reference = digests(ROOT)
    assert changed(copies({"workflow/trace/seeds.py": (None, "\nEXTRA = 1\n")}), reference) == set()
    assert "workflow.trace.seeds" not in digest.reach(["workflow.run.loop"])
    reached = {"algorithms", "algorithms.api", "algorithms.random_search"}
    assert digest.reach(["algorithms.random_search"]) == reached


def test_a_file_that_moves_changes_nothing(copies):
    root = copies()
    moved = root / "algorithms" / "parts" / "arms"
    (moved.parent / "search" / "bounds.py").rename(moved / "widths.py")
    (moved / "exact.py").rename(moved.parent / "conditioned.py")
    names = {
        "algorithms.parts.search.bounds": "algorithms.parts.arms.widths",
        "algorithms.parts.arms.exact": "algorithms.parts.conditioned",
    }
    for path in root.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for old, new in names.items():
            text = text.replace(old, new)
        path.write_text(text, encoding="utf-8")
    assert "algorithms.parts.conditioned" in digest.reach(["algorithms.gp_ucb"], root=root)
    assert changed(root, digests(ROOT)) == set()


def package(root, **modules):
    (root / "algorithms").mkdir()
    for name, text in {"__init__": "", **modules}.items():
        (root / "algorithms" / f"{name}.py").write_text(text)


def test_the_same_name_from_another_module_counts(tmp_path):
    """Also where both modules are reached: which one a name comes from decides what is run."""
    text = "from algorithms.{} import N\nfrom algorithms.{} import M\n"
    numbers = {"a": "N = 1\nM = 1\n", "b": "N = 2\nM = 2\n"}
    package(tmp_path, **numbers, one=text.format("a", "b"), two=text.format("b", "a"))
    of = {name: digest.digest([f"algorithms.{name}"], {}, root=tmp_path) for name in ("one", "two")}
    assert of["one"] != of["two"]


def test_a_circle_is_refused_by_name(tmp_path):
    package(tmp_path, a="import algorithms.b\n", b="import algorithms.a\n")
    with pytest.raises(LookupError, match=r"algorithms\.a -> algorithms\.b -> algorithms\.a"):
        digest.digest(["algorithms.a"], {}, root=tmp_path)


def test_parameters_and_data_change_the_digest_but_not_their_order():
    modules = ["algorithms.bkb"]
    plain = digest.digest(modules, PARAMETERS)
    assert digest.digest(modules, dict(reversed(PARAMETERS.items()))) == plain
    assert digest.digest(modules, {**PARAMETERS, "lam": 1e-3}) != plain
    assert digest.digest(modules, {**PARAMETERS, "C": 2}) != plain
    assert with_data(plain, "a") == with_data(plain, "a") != with_data(plain, "b")


def test_every_planned_method_works_on_the_domain_of_its_problem():
    pairs = {
        (curve.algorithm_entry["is"], curve.problem_entry["is"])
        for name in resolve.planned()
        for curve in expand.load(name, "paper").curves
    }
    for algorithm, problem in pairs:
        (domain,) = digest.domains_of_problems(problem)
        assert domain in digest.domains_of(algorithm), (algorithm, problem)


@pytest.mark.parametrize("line", [" = (api.Box,)", ": ClassVar[tuple[type, ...]] = (Box,)"])
def test_domains_are_read_however_they_are_written(tmp_path, line):
    package(tmp_path, one=f"class One(Base):\n    domains{line}\n", two="class Two: Arms = 1\n")
    assert digest.domains_of("one.One", root=tmp_path) == {"Box"}
    assert digest.domains_of("two.Two", root=tmp_path) == set()
