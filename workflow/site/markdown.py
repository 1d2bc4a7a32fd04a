"""Markdown as HTML: pages of this repository and tables of reports, by markdown-it with GitHub's
tables, and single sentences. Markup in a text is escaped; comments are left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape

Resolve = Callable[[str], str]  # an address in the text to one of the site; "" where there is none
Picture = Callable[[str, str], str]  # an address and its words to markup

SYMBOLS = {r"\lambda": "λ", r"\bar q": "q̄", r"\beta": "β", r"\mu": "µ"}
RAISED = str.maketrans("-0123456789tx", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹ᵗˣ")
RESERVED = ("content",)  # ids of every page
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?|-?∞|-|")
OURS = "ours"  # the type of tokens whose content is markup of this module's making


@dataclass(frozen=True)
class Heading:
    """A heading below the first, with the text up to the next one."""

    id: str
    level: int
    words: str
    text: str


@dataclass(frozen=True)
class Rendered:
    """A page: its first heading in plain words, its markup, and its other headings."""

    title: str
    body: Markup
    headings: Sequence[Heading]


def render(
    text: str,
    resolve: Resolve = lambda link: link if link.startswith("#") else "",
    picture: Picture = lambda _link, alt: str(escape(alt)),
    title: str = "",
) -> Rendered:
    """A text as markup, with a title if it has none. A link that `resolve` knows no place for stays
    as words.
    """
    parser = MarkdownIt("commonmark", {"html": True, "xhtmlOut": False}).enable("table")
    tokens = parser.parse(text)
    first, headings = _name_headings(tokens)
    title = first or title
    _shape_tables(tokens, title)
    for token in tokens:
        if token.type in ("fence", "code_block"):
            _set(token, f'<pre tabindex="0"><code>{escape(token.content)}</code></pre>\n')
        elif token.type == "html_block":
            said = _escaped(token.content)
            _set(token, f"<p>{said}</p>\n" if said else "")
        elif token.children is not None:
            _shape(token.children, resolve, picture)
    parser.add_render_rule(OURS, lambda _, tokens, at, *__: tokens[at].content)
    return Rendered(title, Markup(parser.renderer.render(tokens, parser.options, {})), headings)


def slug(words: str) -> str:
    """The anchor of a heading, as GitHub has it."""
    return re.sub(r"[^\w\- ]", "", words.strip().lower()).replace(" ", "-")


def mathematics(text: str) -> str:
    r"""A title with `$\lambda = 10^{-4}$` in it, in plain letters."""
    return re.sub(r"\$([^$]*)\$", lambda found: _plain(found[1]), text)


def inline(text: str) -> Markup:
    """A sentence with `code`, *emphasis* and **weight** of Markdown."""
    safe = str(escape(mathematics(text)))
    safe = re.sub(r"`([^`]+)`", r"<code>\1</code>", safe)
    safe = re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", safe)
    return Markup(re.sub(r"(?<![\w*])\*([^* ][^*]*)\*(?![\w*])", r"<em>\1</em>", safe))


def _plain(formula: str) -> str:
    for name, symbol in SYMBOLS.items():
        formula = formula.replace(name, symbol)
    formula = re.sub(r"\^\{?([-\dtx]+)\}?", lambda found: found[1].translate(RAISED), formula)
    return re.sub(r"_\{([^}]*)\}", r"_\1", formula)


def _name_headings(tokens: Sequence[Token]) -> tuple[str, list[Heading]]:
    """Gives every heading but the first its anchor; what the first says, and the others."""
    title, found, ids = "", [], set(RESERVED)
    for at, (token, words) in enumerate(pairwise(tokens)):
        if token.type != "heading_open":
            continue
        said = _words(words)
        if not title:
            title = said
            continue
        first = name = slug(said) or "section"
        number = 0
        while name in ids:
            number += 1
            name = f"{first}-{number}"
        ids.add(name)
        token.attrSet("id", name)
        following = tokens[at + 3 :]
        end = next((i for i, t in enumerate(following) if t.type == "heading_open"), None)
        text = " ".join(_words(t) for t in following[:end] if t.type == "inline")
        found.append(Heading(name, int(token.tag[1]), said, text))
    return title, found


def _shape_tables(tokens: Sequence[Token], label: str) -> None:
    """Tables as this site has them: in a region that scrolls, each row named by its first cell,
    each other cell with the name of its column for narrow screens. Alignment is a class: the
    site's policy allows no style.
    """
    columns: list[str] = []
    numeric: list[bool] = []
    labels = Counter[str]()
    for at, token in enumerate(tokens):
        if token.type == "heading_open":
            label = _words(tokens[at + 1])
        elif token.type == "table_open":
            columns, numeric = [], _numeric(tokens[at:])
            labels[label] += 1
            named = escape(f"{label} ({labels[label]})" if labels[label] > 1 else label)
            region = f'<div class="scroll" tabindex="0" role="region" aria-label="{named}">'
            _set(token, f'{region}<table class="sortable stacked">\n')
        elif token.type == "table_close":
            _set(token, "</table></div>\n")
        elif token.type == "tr_open":
            position = -1
        elif token.type in ("th_open", "td_open"):
            position += 1
            said, closing = _words(tokens[at + 1]), tokens[at + 2]
            token.attrs.pop("style", "")
            is_head = token.type == "th_open"
            if is_head:
                columns.append(said)
            is_name = bool(said) if is_head else position == 0
            token.tag = closing.tag = "th" if is_name else "td"
            if is_name:
                token.attrSet("scope", "col" if is_head else "row")
            if numeric[position]:
                token.attrSet("class", "number")
            if not is_name and not is_head:
                token.attrSet("data-label", columns[position])


def _numeric(tokens: Sequence[Token]) -> list[bool]:
    """Which columns of the first table hold numbers alone, the first column never."""
    found: list[bool] = []
    for token, words in pairwise(tokens):
        if token.type == "table_close":
            break
        if token.type == "th_open":
            found.append(bool(found))
        elif token.type == "tr_open":
            position = -1
        elif token.type == "td_open":
            position += 1
            found[position] &= bool(NUMBER.fullmatch(_words(words)))
    return found


def _shape(tokens: Sequence[Token], resolve: Resolve, picture: Picture) -> None:
    """The links and pictures of a line as this site has them."""
    ends = ""  # links do not nest
    for token in tokens:
        if token.type == "link_open":
            place = resolve(str(token.attrs["href"]))
            ends = "</a>" if place else ""
            _set(token, f'<a href="{escape(place)}">' if place else "")
        elif token.type == "link_close":
            _set(token, ends)
        elif token.type == "image":
            _set(token, picture(str(token.attrs["src"]), _words(token)))
        elif token.type == "html_inline":
            _set(token, _escaped(token.content))


def _escaped(markup: str) -> str:
    return str(escape(re.sub(r"<!--.*?-->", "", markup, flags=re.DOTALL).strip()))


def _set(token: Token, markup: str) -> None:
    token.type, token.content, token.children = OURS, markup, None


def _words(token: Token) -> str:
    """The words of a line without its marks."""
    if token.children is not None:
        return "".join(_words(child) for child in token.children)
    if token.type in ("text", "text_special", "code_inline", "image"):
        return token.content
    return " " if token.type in ("softbreak", "hardbreak") else ""
