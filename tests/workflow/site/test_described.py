"""The metadata of the site is an RO-Crate that the library reads; the files that it names exist."""

from __future__ import annotations

import json

from workflow.plan.resolve import ROOT
from workflow.site import described
from workflow.site.build import build
from workflow.site.folder import reports


def test_the_site_is_a_crate_whose_files_are_there(reference_site):
    from rocrate.rocrate import ROCrate

    crate = ROCrate(str(reference_site))
    files = [entity for entity in crate.data_entities if entity.type == "File"]
    assert len(files) > 200
    assert all((reference_site / entity.id).exists() for entity in files)
    assert {entity.type for entity in crate.root_dataset["citation"]} == {"ScholarlyArticle"}
    assert crate.root_dataset["license"].id == "https://spdx.org/licenses/MIT"
    page = (reference_site / "index.html").read_text(encoding="utf-8")
    assert f'href="{described.METADATA}"' in page


def test_the_same_site_has_the_same_metadata(reference_site):
    known = reports(ROOT / "figures" / "reference")
    text = (reference_site / described.METADATA).read_text(encoding="utf-8")
    assert described.metadata(reference_site, known, ROOT) == text
    names = [entity["@id"] for entity in json.loads(text)["@graph"]]
    assert len(set(names)) == len(names)


def test_a_folder_without_a_citation_has_no_metadata(tmp_path):
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "findings.yaml").write_text("[]\n")
    build(ROOT / "figures" / "reference", tmp_path / "site", tmp_path, papers=["bkb"])
    assert not (tmp_path / "site" / described.METADATA).exists()
    assert described.METADATA not in (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
