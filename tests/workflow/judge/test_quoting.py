"""A text within Markdown is shown as it stands: nothing in it becomes markup, and it is read back.

The characters before which a backslash belongs are those of CommonMark and of GitHub's dialect.
"""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace

import pandas as pd
import pytest

from tests.workflow.synthetic import Toy, noisy
from workflow.draw import tabulate
from workflow.judge import claims, ledger, render, sensitivity
from workflow.judge.quoting import quoted, unquoted
from workflow.site.text import sheet

PIECES = (
    *(
        "<b>",
        "</b>",
        "<",
        "&lt;",
        "&",
        "*",
        "**",
        "_",
        "__",
        "`",
        "```",
        "[",
        "]",
        "(",
        ")",
        "](u)",
    ),
    *(
        "!",
        "|",
        "\\",
        "# ",
        "> ",
        "- ",
        "1. ",
        "===",
        "---",
        "~~",
        "https://x.y",
        "www.x.y",
        "[x]: /u",
    ),
    *("<!--", "[^1]", "a", "b ", " ", "\n", "\n\n", "\t", "3", "x_y", "é", "    c", "$x^2$"),
)
# what stands without a backslash before it, and would be markup
LIVE = re.compile(
    r"""
    (?<!\\)(?:\\\\)*
    (?: <[A-Za-z/!?] | [`*~] | \]\( | :// | www\. | \[\^ | (?<![^\W_])_ | _(?![^\W_]) )
    | &\#?\w+; (?<!&amp;)
    """,
    re.VERBOSE,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A < B on p, [0, 1] and simple_regret", "A < B on p, [0, 1] and simple_regret"),
        ("-0.3, 5 % & more, GP-UCB@code", "-0.3, 5 % & more, GP-UCB@code"),
        ("-", "-"),
        ("<script>alert(1)</script>", r"\<script>alert(1)\</script>"),
        ("<!-- gone", r"\<!-- gone"),
        ("![pixel](http://x.y/z.png)", r"![pixel\](http\://x.y/z.png)"),
        ("[here](javascript:alert(1))", r"\[here\](javascript:alert(1))"),
        ("[x]: https://x.y", r"\[x]: https\://x.y"),
        ("see www.x.y", r"see www\.x.y"),
        ("as `code`", r"as \`code\`"),
        ("**loud** _low_ ~~gone~~", r"\*\*loud\*\* \_low\_ \~\~gone\~\~"),
        ("&lt;b&gt; & AT&T", "&amp;lt;b&amp;gt; & AT&T"),
        (r"\<b> \alpha \\ \ ", r"\\\<b> \alpha \\\ \\"),
        ("# one\n\n# two", r"\# one # two"),
        ("> said", r"\> said"),
        ("- point", r"\- point"),
        ("12. point", r"12\. point"),
        ("---", r"\---"),
        ("a\n===", "a ==="),
        (" two\n lines\t here ", "two lines here"),
        (0.5, "0.5"),
    ],
)
def test_what_would_be_markup_is_escaped_and_the_rest_stays(text, expected):
    assert quoted(text) == expected
    assert unquoted(expected) == " ".join(str(text).split())


def test_any_text_is_read_back_and_has_no_live_mark():
    chance = random.Random(0)
    for _ in range(20_000):
        text = "".join(chance.choices(PIECES, k=chance.randint(1, 9)))
        written = quoted(text)
        assert unquoted(written) == " ".join(text.split()), text
        assert not LIVE.search(written), (text, written)
        assert not re.match(r"[#>=\[]|[-+][ -]|\d+[.)]( |$)", written), (text, written)


@pytest.mark.parametrize("text", ["**", "<b>", "&lt;", "x](y", "_x_", "http://x", "www.x", "[^1]"])
def test_a_live_mark_would_be_found(text):
    assert LIVE.search(text)


EVIL = (
    "<img src=x onerror=alert(1)> [l](http://x.y) ![i](j) `c` | a \\| b &lt;i&gt;\n\n# head\n* p\n"
    "|x"
)
TEXTS = ("says", "where", "note", "what", "why", "instead", "evidence", "alternatives", "paper")


def swapped(markdown: str, word: str) -> str:
    """A file that was made with `word` in the place of every text, with EVIL as it should stand."""
    cell = quoted(EVIL).replace("|", "\\|")
    return "\n".join(
        line.replace(word, cell if line.startswith("|") else quoted(EVIL))
        for line in markdown.split("\n")
    )


def entry(text: str) -> dict[str, object]:
    """Everything that the ledger takes from a YAML, with one text in every place for words."""
    lines = dict.fromkeys(TEXTS, text)
    return {
        "paper": {"key": "toy2026", "title": text, "venue": text},
        "errata": [{"id": "e", **lines}],
        "assumptions": [{"id": "a", **lines, "alternatives": [text, text]}],
        "deviations": [{"id": "d", **lines, "code": text, "default": text, "reading": "code"}],
        "readings": {"code": {"says": text, "algorithms": {"*": {"beta": "code"}}}},
    }


def judged(root, text: str) -> tuple[Toy, claims.Verdict]:
    toy = Toy(root)
    toy.add("A", noisy(0.9, 0.01, 1))
    toy.add("B", noisy(0.5, 0.01, 2))
    toy.add("A", noisy(0.9, 0.01, 1), reading="code")
    toy.entry |= entry(text)
    check = {"metric": "simple_regret", "problems": ["p"], "left": ["A"], "right": ["B"]}
    line = {
        "id": "c",
        "where": text,
        "says": text,
        "note": text,
        "check": {**check, "test": "less"},
    }
    toy.entry["claims"] = [line]
    return toy, claims.judge(toy.paper, toy.store(), line)


def test_no_text_of_a_paper_becomes_markup_in_its_verdicts(tmp_path):
    """The file is that of harmless words, but for the words."""
    made = [
        render.as_markdown(toy.paper, [replace(verdict, reasons=(text,), data=text)])
        for text in ("WORD", EVIL)
        for toy, verdict in [judged(tmp_path / text[:1].strip("<"), text)]
    ]
    assert made[0].count("WORD") > 20
    assert made[1] == swapped(made[0], "WORD")


def test_no_text_of_a_reading_becomes_markup_in_what_verdicts_depend_on(tmp_path):
    made = []
    for text in ("WORD", EVIL):
        toy, verdict = judged(tmp_path / text[:1].strip("<"), text)
        report = json.loads(ledger.as_json(toy.paper, [verdict]))
        judgement = {"verdict": "not decided", "observed": "reproduced", "seeds": 9}
        report["claims"][0]["readings"] = {"code": {**judgement, "reasons": [text]}}
        made.append(sensitivity.as_markdown(sensitivity.matrix(report)))
    assert made[0].count("WORD") == 1 and "[c](verdicts.md#c)" in made[0]
    assert made[1] == swapped(made[0], "WORD")


def test_no_text_becomes_markup_in_a_table_and_the_site_reads_it_back(tmp_path):
    made = []
    for text in ("WORD", EVIL):
        toy = Toy(tmp_path / text[:1].strip("<"))
        errata = [{"id": "e", **dict.fromkeys(TEXTS, text)}]
        line = {"id": "t", "title": text, "where": text, "note": text, "errata": ["e"]}
        toy.entry |= {"tables": [line], "errata": errata}
        found = pd.DataFrame({"name": [text, "b"], text: [0.5, 1.0]})
        made.append(tabulate.as_markdown(toy.paper, "t", found))
    assert made[1] == swapped(made[0], "WORD")
    plain = " ".join(EVIL.split())
    read = sheet(made[1])
    assert read.title == f"{plain} ({plain})" and list(read.columns) == ["name", plain]
    assert [list(row) for row in read.rows] == [[plain, "0.5"], ["b", "1"]]
    assert plain in read.notes and f"{plain}: {plain}. Instead: {plain}" in read.notes
