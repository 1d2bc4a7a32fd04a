"""The sites that the tests read: of made-up runs, and of the committed reports.

Each is made once.
"""

import pytest

from tests.workflow.site import made_up
from workflow.plan.resolve import ROOT
from workflow.site.build import build


@pytest.fixture(scope="session")
def made_up_site(tmp_path_factory):
    """The site of the made-up report, with the guide."""
    root = tmp_path_factory.mktemp("checkout")
    for name in ("papers", "algorithms", "docs"):
        (root / name).symlink_to(ROOT / name)
    for name in ("README", "ARCHITECTURE", "CONTRIBUTING", "SECURITY"):
        (root / f"{name}.md").symlink_to(ROOT / f"{name}.md")
    site = tmp_path_factory.mktemp("site")
    build(made_up.report(tmp_path_factory.mktemp("report")), site, root)
    return site


@pytest.fixture(scope="session")
def reference_site(tmp_path_factory):
    """The site of the committed reports."""
    site = tmp_path_factory.mktemp("reference")
    build(ROOT / "figures" / "reference", site)
    return site
