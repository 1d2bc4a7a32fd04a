"""Whether Python finds the packages that noregret stands on, or others of the same names.

Their names are common ones. Python takes the first that lies on its path, and the folder of a
user's program comes first: a folder `problems` there, or a file workflow.py, hides the package
that was installed.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

PACKAGES = ("algorithms", "problems", "workflow")  # papers/ is read as files: nothing hides it


def check_packages(site: Path) -> None:
    """Refuse a package that does not lie in the folder `site`, whether it was imported before or
    would be found next. Imports none of them. Raises ImportError.
    """
    for name in PACKAGES:
        place = _place(name)
        if place is not None and not _is_same(place, site / name):
            got = place if place.is_absolute() else "a module that is no file"
            raise ImportError(
                f"expected noregret's own package `{name}` beside it in {site}, got {got}, which"
                " hides it: rename that, or start Python in another folder",
                name=name,
            )


def _place(name: str) -> Path | None:
    """The folder of a package, or the file of a module; None where there is neither, which the
    import itself tells.
    """
    try:
        spec = find_spec(name)
    except ValueError:  # somebody made a module by hand
        return Path(name)
    if spec is None:
        return None
    if spec.submodule_search_locations is None:
        return Path(spec.origin or name)
    if spec.origin is not None:
        return Path(spec.origin).parent
    return Path(next(iter(spec.submodule_search_locations), name))  # a folder without __init__.py


def _is_same(one: Path, other: Path) -> bool:
    """Whether two paths lead to one place; links do."""
    return one.samefile(other) if one.exists() and other.exists() else one == other
