"""The site described for machines: an RO-Crate 1.1 of its pages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml

from workflow.site.claim_pages import FOLDER
from workflow.site.folder import Report

METADATA = "ro-crate-metadata.json"
CITATION = "CITATION.cff"
SPECIFICATION = "https://w3id.org/ro/crate/1.1"
FORMAT = "text/html"
Entity = Mapping[str, Any]


def metadata(site: Path, reports: Iterable[Report], root: Path) -> str:
    """The content of the metadata file of a finished site; title, licence and date are those of
    the CITATION.cff below `root`.
    """
    citation = yaml.safe_load((root / CITATION).read_text(encoding="utf-8"))
    known = list(reports)
    licence = {"@id": f"https://spdx.org/licenses/{citation['license']}"}
    papers = [_article(report) for report in known if not report.is_comparison]
    files = [
        _file(path, site, report, licence)
        for report in known
        for path in sorted((site / report.name).rglob("*.html"))
    ]
    top = [
        {
            "@id": path.name,
            "@type": "File",
            "name": path.stem,
            "encodingFormat": FORMAT,
            "license": licence,
        }
        for path in sorted(site.glob("*.html"))
    ]
    parts = [{"@id": entity["@id"]} for entity in (*top, *files)]
    whole: Entity = {
        "@id": "./",
        "@type": "Dataset",
        "name": f"Results of {citation['title']}",
        "description": "What reproduces of each paper, claim by claim, with the numbers of the"
        " seeds.",
        "datePublished": str(citation["date-released"]),
        "version": citation["version"],
        "license": licence,
        "citation": [{"@id": paper["@id"]} for paper in papers],
        "hasPart": parts,
    }
    descriptor: Entity = {
        "@id": METADATA,
        "@type": "CreativeWork",
        "conformsTo": {"@id": SPECIFICATION},
        "about": {"@id": "./"},
    }
    words = {**licence, "@type": "CreativeWork", "name": citation["license"]}
    graph = [descriptor, whole, words, *papers, *top, *files]
    text = {"@context": f"{SPECIFICATION}/context", "@graph": graph}
    return json.dumps(text, ensure_ascii=False, separators=(",", ":")) + "\n"


def _article(report: Report) -> Entity:
    link = report.head.get("link")
    return {
        "@id": link or f"#{report.name}",
        "@type": "ScholarlyArticle",
        "name": report.head.get("title", report.label),
    }


def _file(path: Path, site: Path, report: Report, licence: Entity) -> Entity:
    name = path.relative_to(site)
    what = "a claim" if path.parent.name == FOLDER else "page"
    return {
        "@id": quote(name.as_posix(), safe="/@+,"),
        "@type": "File",
        "name": path.stem,
        "description": f"{report.label}: {what}",
        "encodingFormat": FORMAT,
        "license": licence,
    }
