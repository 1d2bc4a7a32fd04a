"""What this site makes of headings, tables, code, HTML, links and pictures in Markdown, and that no
text becomes markup that is not meant.
"""

from workflow.site import markdown


def made(text):
    """The markup of a text on a page whose links to `no...` lead nowhere."""
    page = markdown.render(
        text,
        lambda link: "" if link.startswith("no") else f"at/{link}",
        lambda link, alt: f'<img src="{link}" alt="{alt}">',
    )
    return str(page.body).strip()


def test_a_text_becomes_its_markup():
    for text, markup in [
        ("# A *b*", "<h1>A <em>b</em></h1>"),
        (
            "# t\n## A `b`, c\n## A b c",
            '<h1>t</h1>\n<h2 id="a-b-c">A <code>b</code>, c</h2>\n<h2 id="a-b-c-1">A b c</h2>',
        ),
        ("# t\n## Content", '<h1>t</h1>\n<h2 id="content-1">Content</h2>'),
        (
            "1. a\n\n   ```\n   x\n\n   y\n   ```\n2. b",
            '<ol>\n<li>\n<p>a</p>\n<pre tabindex="0"><code>x\n\ny\n</code></pre>\n</li>\n'
            "<li>\n<p>b</p>\n</li>\n</ol>",
        ),
        (
            "```bash\na < b  # **c**\n<!-- d -->\n```",
            '<pre tabindex="0"><code>a &lt; b  # **c**\n&lt;!-- d --&gt;\n</code></pre>',
        ),
        ("a <!-- gone\ngone --> b", "<p>a  b</p>"),
        ("[a `b`](c.md#d)", '<p><a href="at/c.md#d">a <code>b</code></a></p>'),
        ("[a](../no.py)", '<p><a href="at/../no.py">a</a></p>'),
        ("[a](no.py)", "<p>a</p>"),
        ("[`no.py`](no.py)", "<p><code>no.py</code></p>"),
        ("![a *b*](c.png)", '<p><img src="c.png" alt="a b"></p>'),
        ("<https://x.y/z>", '<p><a href="at/https://x.y/z">https://x.y/z</a></p>'),
        ("<script>1</script>", "<p>&lt;script&gt;1&lt;/script&gt;</p>"),
    ]:
        assert made(text) == markup


def test_a_table_has_names_for_its_cells_and_keeps_pipes_in_code():
    text = "# t\n\n| a | `b` |\n| --- | ---: |\n| x | 1 |\n| `p \\| q` | |\n"
    assert made(text).replace("\n", "") == (
        '<h1>t</h1><div class="scroll" tabindex="0" role="region" aria-label="t">'
        '<table class="sortable stacked"><thead><tr><th scope="col">a</th>'
        '<th scope="col" class="number"><code>b</code></th></tr></thead><tbody>'
        '<tr><th scope="row">x</th><td class="number" data-label="b">1</td></tr>'
        '<tr><th scope="row"><code>p | q</code></th><td class="number" data-label="b"></td></tr>'
        "</tbody></table></div>"
    )


def test_no_text_becomes_other_markup():
    for text in [
        "[a](javascript:alert(1))",
        '[a](x"onclick="1)',
        "<img src=x onerror=1>",
        "`</code><script>`",
        "| a |\n| --- |\n| <script> |",
        "\x000\x00",
    ]:
        page = markdown.render(text, lambda link: link, lambda link, alt: "")
        assert "<script" not in page.body and " onclick=" not in page.body.replace("&#34;", "")
        assert "onerror=1>" not in page.body


def test_the_title_and_the_headings_are_plain_words():
    page = markdown.render("# The `a` & *b*\n## C [d](e)\nmore *words*\n### f")
    assert page.title == "The a & b"
    found = [(one.id, one.words, one.text) for one in page.headings]
    assert found == [("c-d", "C d", "more words"), ("f", "f", "")]


def test_mathematics_in_plain_letters():
    for title, plain in [
        (r"Cadata, $\lambda = 10^{-4}$, $\bar q = 2$", "Cadata, λ = 10⁻⁴, q̄ = 2"),
        ("Resparsifications and $d_{eff}$", "Resparsifications and d_eff"),
        ("no mathematics, 5 $", "no mathematics, 5 $"),
    ]:
        assert markdown.mathematics(title) == plain


def test_a_sentence_keeps_its_marks_and_is_escaped():
    assert (
        markdown.inline("`a < b` is **not** <i>markup</i>, one draw per *pull*, 2 * 3 * 4")
        == "<code>a &lt; b</code> is <strong>not</strong> &lt;i&gt;markup&lt;/i&gt;, one draw per"
        " <em>pull</em>, 2 * 3 * 4"
    )
