"""The Markdown of this repository's pages as HTML: headings, paragraphs, lists, tables, code,
quotes, links and pictures, as CommonMark and GitHub's tables have them.

The locks hold no library for it. Markup in a text is escaped, but for comments, which are left
out, and for `<a href><img></a>`, by which tables hold small pictures.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup, escape

Resolve = Callable[[str], str]  # an address in the text to one of the site; "" where there is none
Picture = Callable[[str, str], str]  # an address and its words to markup

FENCE = re.compile(r"( {0,3})(`{3,}|~{3,})\s*([\w+-]*)[^`]*$")
HEADING = re.compile(r" {0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
RULE = re.compile(r" {0,3}([-*_])\s*(\1\s*){2,}$")
ITEM = re.compile(r"( {0,3})([-*+]|\d{1,9}[.)])( +)(?=\S)")
QUOTE = re.compile(r" {0,3}> ?")
DIVIDER = re.compile(r"\s*\|?(\s*:?-+:?\s*\|)+\s*(:?-+:?)?\s*$")
PIPE = re.compile(r"(?<!\\)\|")
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
STASHED = re.compile("\x00(\\d+)\x00")
BRACKETS = r"\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]*(?:\([^()\s]*\)[^()\s]*)*)\)"
PIECE = re.compile(
    r"(?P<ticks>`+)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)"
    r"|\\(?P<mark>[!-/:-@\[-`{-~])"
    rf"|!{BRACKETS.replace('(', '(?P<alt>', 1)}"
    rf"|{BRACKETS}"
    r"|<(?P<bare>https?://[^\s<>]+)>"
    r'|<a href="(?P<around>[^"]*)">\s*(?P<inner><img [^>]*>)\s*</a>|(?P<img><img [^>]*>)'
    r"|&(?P<entity>#?\w+);",
    re.DOTALL,
)
RESERVED = ("content", "large")  # ids of every page
WIDE = 40  # letters from which on a cell needs a width


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
    writer = _Writer(resolve, picture)
    body = Markup("".join(writer.blocks(_without_comments(text).expandtabs(4).splitlines())))
    return Rendered(writer.title, body, tuple(writer.sections))


def plain(words: str) -> str:
    """A sentence without its marks."""
    nothing = _Writer(lambda _: "", lambda _, alt: alt, bare=True)
    return html.unescape(re.sub(r"<[^>]+>", "", nothing.inline(words)))


def slug(words: str) -> str:
    """The anchor of a heading, as GitHub has it."""
    return re.sub(r"[^\w\- ]", "", words.strip().lower()).replace(" ", "-")


def _without_comments(text: str) -> str:
    """A text without its comments; what stands in a fence is kept, line by line."""
    parts, fence = [""], ""
    for line in text.splitlines(keepends=True):
        found = re.match(r"\s*(`{3,}|~{3,})", line)
        is_edge = found and (not fence or (found[1].startswith(fence) and not line.strip(" `~\n")))
        if found and is_edge and not fence:
            fence = found[1]
            parts += [line]
        elif is_edge:
            fence = ""
            parts[-1] += line
            parts += [""]
        else:
            parts[-1] += line
    return "".join(
        part if number % 2 else COMMENT.sub("", part) for number, part in enumerate(parts)
    )


@dataclass
class _Writer:
    resolve: Resolve
    picture: Picture
    bare: bool = False  # whether links lose their addresses
    title: str = ""
    sections: list[tuple[str, str]] = field(default_factory=list)
    ids: set[str] = field(default_factory=lambda: set(RESERVED))

    def blocks(self, lines: Sequence[str]) -> Iterator[str]:
        """Markup of each block of some lines."""
        at = 0
        while at < len(lines):
            line = lines[at]
            if not line.strip():
                at += 1
            elif found := FENCE.match(line):
                end = _end_of_fence(lines, at, found[2])
                indent = len(found[1])
                code = [_dedented(each, indent) for each in lines[at + 1 : end]]
                yield _code(code)
                at = end + 1
            elif line.startswith("    "):
                end = at
                while end < len(lines) and (not lines[end].strip() or lines[end][:4] == "    "):
                    end += 1
                yield _code([each[4:] for each in lines[at:end]])
                at = end
            elif found := HEADING.match(line):
                yield self._heading(len(found[1]), found[2])
                at += 1
            elif RULE.match(line):
                yield "<hr>\n"
                at += 1
            elif _is_table(lines, at):
                end = at + 2
                while end < len(lines) and lines[end].strip().startswith("|"):
                    end += 1
                yield self._table(lines[at:end])
                at = end
            elif ITEM.match(line):
                markup, at = self._list(lines, at)
                yield markup
            elif QUOTE.match(line):
                end = at
                while end < len(lines) and QUOTE.match(lines[end]):
                    end += 1
                inner = "".join(self.blocks([QUOTE.sub("", each, 1) for each in lines[at:end]]))
                yield f"<blockquote>{inner}</blockquote>\n"
                at = end
            else:
                end = _end_of_paragraph(lines, at)
                words = "\n".join(each.strip() for each in lines[at:end])
                yield f"<p>{self.inline(words)}</p>\n"
                at = end

    def _heading(self, level: int, words: str) -> str:
        said = plain(words)
        if not self.title:
            self.title = said
            return f"<h1>{self.inline(words)}</h1>\n"
        first = name = slug(said) or "section"
        number = 0
        while name in self.ids:
            number += 1
            name = f"{first}-{number}"
        self.ids.add(name)
        if level == 2:
            self.sections.append((name, said))
        return f'<h{level} id="{escape(name)}">{self.inline(words)}</h{level}>\n'

    def _list(self, lines: Sequence[str], at: int) -> tuple[str, int]:
        """A list, and where it ends: items of one kind of mark, what is indented below each, and
        the lines that go on with its last paragraph.
        """
        kind = _kind(lines[at])
        first = re.match(r"\s*(\d+)", lines[at])
        items: list[list[str]] = []
        while at < len(lines):
            found = ITEM.match(lines[at])
            if not found or _kind(lines[at]) != kind or RULE.match(lines[at]):
                break
            width = found.end()
            item, at = [lines[at][width:]], at + 1
            while at < len(lines):
                line = lines[at]
                if not line.strip():
                    after = next((each for each in lines[at:] if each.strip()), "")
                    if not after.startswith(" " * width):
                        break
                elif not line.startswith(" " * width) and (
                    not item[-1].strip() or ITEM.match(line) or _begins_block(lines, at)
                ):
                    break
                item.append(_dedented(line, width))
                at += 1
            items.append(item)
            there = at
            while there < len(lines) and not lines[there].strip():
                there += 1
            if there < len(lines) and ITEM.match(lines[there]) and _kind(lines[there]) == kind:
                at = there
        made = "".join(f"<li>{self._item(item)}</li>\n" for item in items)
        start = f' start="{first[1]}"' if first and first[1] != "1" else ""
        return f"<{kind}{start}>\n{made}</{kind}>\n", at

    def _item(self, lines: Sequence[str]) -> str:
        """What stands in an item; its first paragraph needs no element of its own."""
        whole = "".join(self.blocks(lines))
        found = re.match(r"<p>(.*?)</p>\n", whole, re.DOTALL)
        return f"{found[1]}\n{whole[found.end() :]}".strip() if found else whole

    def _table(self, lines: Sequence[str]) -> str:
        heads, marks = _cells(lines[0]), _cells(lines[1])
        is_number = [mark.endswith(":") and not mark.startswith(":") for mark in marks]
        is_number += [False] * (len(heads) - len(marks))

        def kind(position: int, cell: str) -> str:
            if is_number[position]:
                return ' class="number"'
            return ' class="text"' if len(plain(cell)) > WIDE else ""

        head = "".join(
            f'<th scope="col"{kind(i, "")}>{self.inline(cell)}</th>' if cell else "<td></td>"
            for i, cell in enumerate(heads)
        )
        names = [escape(plain(cell)) for cell in heads]
        rows = []
        for line in lines[2:]:
            cells = _cells(line)[: len(heads)]
            first = f'<th scope="row">{self.inline(cells[0])}</th>' if cells else ""
            others = "".join(
                f'<td{kind(i, cell)} data-label="{names[i]}">{self.inline(cell)}</td>'
                for i, cell in enumerate(cells)
                if i
            )
            rows.append(f"<tr>{first}{others}</tr>\n")
        label = escape(self.sections[-1][1] if self.sections else self.title or "Table")
        region = f'<div class="scroll" tabindex="0" role="region" aria-label="{label}">'
        body = f"<tbody>\n{''.join(rows)}</tbody></table></div>\n"
        return f'{region}<table class="stacked"><thead><tr>{head}</tr></thead>{body}'

    def inline(self, text: str) -> str:
        """The markup of words: what is finished is kept apart, so that no mark in it counts."""
        kept: list[str] = []

        def keep(markup: str) -> str:
            kept.append(markup)
            return f"\x00{len(kept) - 1}\x00"

        def piece(found: re.Match[str]) -> str:
            return keep(self._piece(found))

        safe = str(escape(PIECE.sub(piece, text.replace("\x00", ""))))
        safe = re.sub(r"\*\*(?=\S)(.+?)(?<=\S)\*\*", r"<strong>\1</strong>", safe, flags=re.DOTALL)
        # not after a quote, which is `&#39;` by now: signatures in headings have values such as '*'
        safe = re.sub(r"(?<![\w*;])\*(?=[^\s*])([^*]*?)(?<=\S)\*(?![\w*])", r"<em>\1</em>", safe)
        return STASHED.sub(lambda found: kept[int(found[1])], safe)

    def _piece(self, found: re.Match[str]) -> str:
        """One code span, escaped mark, link, picture or entity."""
        if found["code"] is not None:
            code = found["code"].replace("\n", " ")
            padded = code[:1] == code[-1:] == " " and code.strip()
            return f"<code>{escape(code[1:-1] if padded else code)}</code>"
        if found["mark"]:
            return str(escape(found["mark"]))
        if found["entity"]:
            return str(escape(html.unescape(f"&{found['entity']};")))
        if found["bare"]:
            return self._link(found["bare"], str(escape(found["bare"])))
        if found["img"] or found["inner"]:
            tag = found["img"] or found["inner"]
            said = {name: html.unescape(value) for name, value in re.findall(r'(\w+)="(.*?)"', tag)}
            shown = self.picture(said.get("src", ""), said.get("alt", ""))
            place = self.resolve(html.unescape(found["around"])) if found["around"] else ""
            is_picture = shown.startswith("<img")
            return f'<a href="{escape(place)}">{shown}</a>' if place and is_picture else shown
        if found["alt"] is not None:
            return self.picture(found[5], plain(found["alt"]))
        return self._link(found[7], self.inline(found[6]))

    def _link(self, address: str, words: str) -> str:
        if self.bare:
            return words
        if place := self.resolve(address):
            return f'<a href="{escape(place)}">{words}</a>'
        path = re.sub(r"^(\.\./)+", "", address)
        if path in html.unescape(words):
            return words
        return f'{words} <span class="where">({escape(path)})</span>'


def _code(lines: Sequence[str]) -> str:
    whole = "\n".join(lines).rstrip()
    return f'<pre tabindex="0"><code>{escape(whole)}\n</code></pre>\n'


def _dedented(line: str, width: int) -> str:
    """A line without so many blanks before it, or those that it has."""
    return line[min(width, len(line) - len(line.lstrip(" "))) :]


def _end_of_fence(lines: Sequence[str], at: int, fence: str) -> int:
    """The line that closes a fence, or the end of the text."""
    for number in range(at + 1, len(lines)):
        line = lines[number].strip()
        if line.startswith(fence) and not line.strip(fence[0]):
            return number
    return len(lines)


def _end_of_paragraph(lines: Sequence[str], at: int) -> int:
    end = at + 1
    while end < len(lines) and lines[end].strip() and not _begins_block(lines, end):
        end += 1
    return end


def _begins_block(lines: Sequence[str], at: int) -> bool:
    """Whether a line ends the paragraph before it; a number does so only if it is 1."""
    line = lines[at]
    item = ITEM.match(line)
    return bool(
        FENCE.match(line)
        or HEADING.match(line)
        or RULE.match(line)
        or QUOTE.match(line)
        or _is_table(lines, at)
        or (item and (_kind(line) == "ul" or item[2][:-1] == "1"))
    )


def _kind(line: str) -> str:
    return "ol" if line.lstrip()[:1].isdigit() else "ul"


def _is_table(lines: Sequence[str], at: int) -> bool:
    is_row = lines[at].strip().startswith("|") and at + 1 < len(lines)
    return is_row and bool(DIVIDER.match(lines[at + 1]))


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|")
    inner = inner[:-1] if inner.endswith("|") and not inner.endswith("\\|") else inner
    return [cell.strip().replace("\\|", "|") for cell in PIPE.split(inner)]
