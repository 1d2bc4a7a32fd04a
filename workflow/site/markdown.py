"""The Markdown of this repository's pages as HTML: CommonMark with GitHub's tables, by markdown-it,
with the anchors, tables and links that this site has.

Markup in a text is escaped, but for comments, which are left out, and for `<a href><img></a>`, by
which tables hold small pictures.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape

Resolve = Callable[[str], str]  # an address in the text to one of the site; "" where there is none
Picture = Callable[[str, str], str]  # an address and its words to markup

COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
ATTRIBUTE = re.compile(r'(\w+)="(.*?)"')
RESERVED = ("content", "large")  # ids of every page
WIDE = 40  # letters from which on a cell needs a width
OURS = "ours"  # the type of tokens whose content is markup of this module's making


@dataclass(frozen=True)
class Rendered:
    """A page: its first heading in plain words, its markup, and its other headings of the second
    level, (id, words).
    """

    title: str
    body: Markup
    sections: Sequence[tuple[str, str]]


def render(text: str, resolve: Resolve, picture: Picture) -> Rendered:
    """A page of Markdown as markup. A link that `resolve` knows no place for stays as text, with
    its address behind it.
    """
    parser = MarkdownIt("commonmark", {"html": True, "xhtmlOut": False}).enable("table")
    tokens = parser.parse(text)
    title, sections = _name_headings(tokens)
    _shape_tables(tokens, title)
    for token in tokens:
        if token.type == "fence" or token.type == "code_block":
            _set(token, f'<pre tabindex="0"><code>{escape(token.content)}</code></pre>\n')
        elif token.type == "html_block":
            said = COMMENT.sub("", token.content).strip()
            _set(token, f"<p>{escape(said)}</p>\n" if said else "")
        elif token.children is not None:
            token.children = list(_inline(token.children, resolve, picture))
    parser.add_render_rule(OURS, lambda _, tokens, at, *__: tokens[at].content)
    body = Markup(parser.renderer.render(tokens, parser.options, {}))
    return Rendered(title, body, tuple(sections))


def slug(words: str) -> str:
    """The anchor of a heading, as GitHub has it."""
    return re.sub(r"[^\w\- ]", "", words.strip().lower()).replace(" ", "-")


def _name_headings(tokens: Sequence[Token]) -> tuple[str, list[tuple[str, str]]]:
    """Gives every heading but the first its anchor; what the first says, and the sections."""
    title, sections, ids = "", [], set(RESERVED)
    for token, inline in pairwise(tokens):
        if token.type != "heading_open":
            continue
        said = _plain(inline)
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
        if token.tag == "h2":
            sections.append((name, said))
    return title, sections


def _shape_tables(tokens: Sequence[Token], label: str) -> None:
    """Tables as this site has them: in a region that scrolls, each row named by its first cell,
    each other cell with the name of its column for narrow screens. Alignment is a class: the
    site's policy allows no style.
    """
    columns: list[str] = []
    for at, token in enumerate(tokens):
        if token.type == "heading_open":
            label = _plain(tokens[at + 1])
        elif token.type == "table_open":
            columns = []
            region = f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(label)}">'
            _set(token, f'{region}<table class="stacked">\n')
        elif token.type == "table_close":
            _set(token, "</table></div>\n")
        elif token.type == "tr_open":
            position = -1
        elif token.type in ("th_open", "td_open"):
            position += 1
            _shape_cell(tokens[at : at + 3], position, columns)


def _shape_cell(cell: Sequence[Token], position: int, columns: list[str]) -> None:
    """Shapes one cell: its opening, its words, its closing. A head adds its name to `columns`."""
    opening, inline, closing = cell
    said, is_head = _plain(inline), opening.type == "th_open"
    is_number = "right" in str(opening.attrs.pop("style", ""))
    if is_head:
        columns.append(said)
    is_name = bool(said) if is_head else position == 0
    opening.tag = closing.tag = "th" if is_name else "td"
    if is_name:
        opening.attrSet("scope", "col" if is_head else "row")
    if is_number and (is_head or position):
        opening.attrSet("class", "number")
    elif not is_head and position and len(said) > WIDE:
        opening.attrSet("class", "text")
    if not is_head and position:
        opening.attrSet("data-label", columns[position])


def _inline(tokens: Iterable[Token], resolve: Resolve, picture: Picture) -> Iterator[Token]:
    """The tokens of a line with this site's links and pictures."""
    behind: list[str] = []  # what closes each link that is open
    said = ""  # what stands in the link
    for token in tokens:
        said += _words(token)
        if token.type == "link_open":
            address, said = str(token.attrs["href"]), ""
            place = resolve(address)
            behind.append("</a>" if place else address)
            _set(token, f'<a href="{escape(place)}">' if place else "")
        elif token.type == "link_close":
            closing = behind.pop()
            path = re.sub(r"^(\.\./)+", "", closing)
            where = "" if path in said else f' <span class="where">({escape(path)})</span>'
            _set(token, closing if closing == "</a>" else where)
        elif token.type == "image":
            _set(token, picture(str(token.attrs["src"]), _plain(token)))
        elif token.type == "html_inline":
            _set(token, _markup(token.content, behind, resolve, picture))
        yield token


def _markup(tag: str, behind: list[str], resolve: Resolve, picture: Picture) -> str:
    """A tag that stands in the text: a picture, a link around one, or words that look like one."""
    found = {name: html.unescape(value) for name, value in ATTRIBUTE.findall(tag)}
    if tag.startswith("<!--"):
        return ""
    if tag.startswith("<img ") and "src" in found:
        return picture(found["src"], found.get("alt", ""))
    if tag.startswith("<a href="):
        place = resolve(found.get("href", ""))
        behind.append("</a>" if place else "")
        return f'<a href="{escape(place)}">' if place else ""
    if tag == "</a>" and behind:
        return behind.pop()
    return str(escape(tag))


def _set(token: Token, markup: str) -> None:
    token.type, token.content, token.children = OURS, markup, None


def _plain(token: Token) -> str:
    """The words of a line without its marks."""
    return "".join(_words(child) for child in token.children or [])


def _words(token: Token) -> str:
    if token.type in ("text", "text_special", "code_inline", "image"):
        return token.content
    return " " if token.type in ("softbreak", "hardbreak") else ""
