"""Every page states what it may load, and holds nothing that its own policy would refuse."""

import json
import re
from types import SimpleNamespace

import pytest

from tests.workflow.site import made_up, scripts
from workflow.site.build import POLICY, build
from workflow.trace.curves import PlanError

SOURCES = {"script": "src", "link": "href", "img": "src"}


def strict(page):
    """The policies of a page, how much stands before them, and what they would refuse."""
    policies, refused, loaded = [], [], 0
    for tag, said in scripts.tags(page):
        if said.get("http-equiv", "").lower() == "content-security-policy":
            policies.append(said["content"])
        if SOURCES.get(tag, "") in said:
            loaded += not policies
            source = said[SOURCES[tag]]
            if re.match(r"[a-z]+:|//", source) and not (tag == "link" and source == "data:,"):
                refused.append(f"{tag} from {source}")
        elif tag == "script":
            refused.append("a script in the page")
        if tag in ("style", "base", "iframe", "object", "embed", "frame", "video", "audio"):
            refused.append(tag)
        for name, value in said.items():
            if name.startswith("on") or name in ("style", "srcdoc", "action", "formaction"):
                refused.append(f"{tag} {name}")
            if value.strip().lower().startswith("javascript:"):
                refused.append(f"{tag} {name}={value}")
    return SimpleNamespace(policies=policies, refused=refused, loaded=loaded)


@pytest.mark.parametrize("site", ["made_up_site", "reference_site"])
def test_every_page_carries_the_policy_and_nothing_that_it_refuses(site, request):
    pages = sorted(request.getfixturevalue(site).rglob("*.html"))
    found = {path.name: strict(path.read_text(encoding="utf-8")) for path in pages}
    assert len(pages) > 10
    assert {name for name, page in found.items() if page.policies != [POLICY]} == set()
    assert {name: page.refused for name, page in found.items() if page.refused} == {}
    assert [name for name, page in found.items() if page.loaded] == []


def test_the_policy_begins_with_nothing_and_lets_no_text_be_a_script():
    rules = {rule.split()[0]: rule.split()[1:] for rule in POLICY.split("; ")}
    for name in ("default-src", "base-uri", "form-action"):
        assert rules.pop(name) == ["'none'"]
    assert rules.keys() == {"script-src", "style-src", "img-src"}
    assert {word for words in rules.values() for word in words} == {"'self'", "file:", "data:"}
    assert "data:" in rules["img-src"] and "data:" not in rules["script-src"] + rules["style-src"]


def test_what_the_policy_refuses_would_be_found():
    for page in [
        "<script>1</script>",
        "<img src='a.png' onerror='1'>",
        "<p style='color: red'>",
        "<a href=' JavaScript:1'>",
        "<style>p {}</style>",
        "<script src='https://x.y/z.js'></script>",
        "<img src='//x.y/z.png'>",
        "<form action='x'>",
        "<iframe src='x'></iframe>",
    ]:
        assert strict(page).refused


def test_curves_that_are_no_json_become_no_script(tmp_path):
    source = made_up.report(tmp_path / "report")
    curves = next(path for path in source.rglob("fig4.json"))
    whole = json.loads(curves.read_text(encoding="utf-8"))
    curves.write_text("{});alert(1);({}", encoding="utf-8")
    said = r"fig4\.json: expected curves as JSON, got .*draw it again"
    with pytest.raises(PlanError, match=said):
        build(source, tmp_path / "site")
    curves.write_text(json.dumps(whole, indent=3), encoding="utf-8")
    build(source, tmp_path / "site")
    figure, shown = scripts.read(next((tmp_path / "site").rglob("fig4.js")))
    assert figure == "dumbo/fig4"
    for panel, same in zip(shown["panels"], whole["panels"], strict=True):
        for line, other in zip(panel["lines"], same["lines"], strict=True):
            for key in ("low", "high"):  # of three digits in the page
                assert line.pop(key) == pytest.approx(other.pop(key), rel=5e-3)
            assert line.pop("each")["seeds"] == other.pop("each")["seeds"]
    assert shown == whole
