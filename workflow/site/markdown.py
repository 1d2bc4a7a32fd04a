"""Markdown as HTML: pages of this repository and tables of reports, by markdown-it with GitHub's
tables, and single sentences. Markup in a text is escaped; comments are left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode
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
    tree, labels = SyntaxTreeNode(tokens), Counter[str]()
    first, headings = _name_headings(tree)
    label = title = first or title
    for node in tree.walk(include_self=False):
        match node.type:
            case "heading":
                label = _words(node)
            case "table":
                labels[label] += 1
                _shape_table(node, f"{label} ({labels[label]})" if labels[label] > 1 else label)
            case "fence" | "code_block":
                _set(node, f'<pre tabindex="0"><code>{escape(node.content)}</code></pre>\n')
            case "html_block":
                said = _escaped(node.content)
                _set(node, f"<p>{said}</p>\n" if said else "")
            case "html_inline":
                _set(node, _escaped(node.content))
            case "link":
                place = escape(resolve(str(node.attrs["href"])))
                _set(node, f'<a href="{place}">' if place else "", "</a>" if place else "")
            case "image":
                _set(node, picture(str(node.attrs["src"]), _words(node)))
    parser.add_render_rule(OURS, lambda _, tokens, at, *__: tokens[at].content)
    return Rendered(title, Markup(parser.renderer.render(tokens, parser.options, {})), headings)


def slug(words: str) -> str:
    """The anchor of a heading, as GitHub has it."""
    return re.sub(r"[^\w\- ]", "", words.strip().lower()).replace(" ", "-")


def mathematics(text: str) -> str:
    r"""A title with `$\lambda = 10^{-4}$` in it, in plain letters."""
    return re.sub(r"\$([^$]*)\$", lambda formula: _plain(formula[1]), text)


def inline(text: str) -> Markup:
    """A sentence with `code`, *emphasis* and **weight** of Markdown."""
    safe = str(escape(mathematics(text)))
    safe = re.sub(r"`([^`]+)`", r"<code>\1</code>", safe)
    safe = re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", safe)
    return Markup(re.sub(r"(?<![\w*])\*([^* ][^*]*)\*(?![\w*])", r"<em>\1</em>", safe))


def _plain(formula: str) -> str:
    for name, symbol in SYMBOLS.items():
        formula = formula.replace(name, symbol)
    formula = re.sub(r"\^\{?([-\dtx]+)\}?", lambda power: power[1].translate(RAISED), formula)
    return re.sub(r"_\{([^}]*)\}", r"_\1", formula)


def _name_headings(tree: SyntaxTreeNode) -> tuple[str, list[Heading]]:
    """Gives every heading but the first its anchor; what the first says, and the others."""
    title, headings, ids = "", list[Heading](), set(RESERVED)
    parts = [node for node in tree.walk() if node.type in ("heading", "inline")]
    for at, node in enumerate(parts):
        if node.type != "heading":
            continue
        said = _words(node)
        if not title:
            title = said
            continue
        first = name = slug(said) or "section"
        number = 0
        while name in ids:
            number += 1
            name = f"{first}-{number}"
        ids.add(name)
        _ends(node)[0].attrSet("id", name)
        text = takewhile(lambda each: each.type == "inline", parts[at + 2 :])  # after its own words
        headings.append(Heading(name, said, " ".join(map(_words, text))))
    return title, headings


def _shape_table(table: SyntaxTreeNode, label: str) -> None:
    """A table as this site has it: in a region that scrolls, each row named by its first cell, each
    other cell with the name of its column for narrow screens. A column of numbers alone has a
    class, the first one never; the site's policy allows no style.
    """
    region = f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(label)}">'
    rows = [row.children for part in table.children for row in part.children]
    _set(table, f'{region}<table class="sortable stacked">\n', "</table></div>\n")
    for position, (head, *cells) in enumerate(zip(*rows, strict=True)):
        column = _words(head)
        is_numeric = position > 0 and all(NUMBER.fullmatch(_words(cell)) for cell in cells)
        for cell in (head, *cells):
            opening, closing = _ends(cell)
            opening.attrs.pop("style", "")
            is_name = bool(column) if cell is head else position == 0
            opening.tag = closing.tag = "th" if is_name else "td"
            if is_name:
                opening.attrSet("scope", "col" if cell is head else "row")
            if is_numeric:
                opening.attrSet("class", "number")
            if not is_name and cell is not head:
                opening.attrSet("data-label", column)


def _escaped(markup: str) -> str:
    return str(escape(re.sub(r"<!--.*?-->", "", markup, flags=re.DOTALL).strip()))


def _ends(node: SyntaxTreeNode) -> tuple[Token, ...]:
    """The one token of a node, or those before and after its children."""
    return node.nester_tokens or tuple(filter(None, [node.token]))


def _set(node: SyntaxTreeNode, *markup: str) -> None:
    for token, text in zip(_ends(node), markup, strict=True):
        token.type, token.content, token.children = OURS, text, None


def _words(node: SyntaxTreeNode) -> str:
    """The words of a line without its marks."""
    if node.type in ("text", "text_special", "code_inline"):
        return node.content
    if node.type in ("softbreak", "hardbreak"):
        return " "
    return "".join(map(_words, node.children))
