"""Tables written as Markdown are read back as they were; titles lose their TeX; sentences are
escaped.
"""

from workflow.judge import render
from workflow.site import text


def test_a_table_is_read_back():
    rows = [["a | b", "1.5"], ["c", "-2e-05"], ["d", "∞"]]
    words = f"# Heading\n\ntoy, scale paper\n\n{render.table(['name', 'value'], rows)}\n\na note\n"
    found = text.sheet(words)
    assert (found.title, list(found.columns)) == ("Heading", ["name", "value"])
    assert [list(row) for row in found.rows] == rows
    assert found.numeric == [False, True]
    assert list(found.notes) == ["toy, scale paper", "a note"]


def test_mathematics_in_plain_letters():
    for title, plain in [
        (r"Cadata, $\lambda = 10^{-4}$, $\bar q = 2$", "Cadata, λ = 10⁻⁴, q̄ = 2"),
        ("Resparsifications and $d_{eff}$", "Resparsifications and d_eff"),
        ("no mathematics, 5 $", "no mathematics, 5 $"),
    ]:
        assert text.mathematics(title) == plain


def test_a_sentence_keeps_its_marks_and_is_escaped():
    assert (
        text.inline("`a < b` is **not** <i>markup</i>, one draw per *pull*, 2 * 3 * 4")
        == "<code>a &lt; b</code> is <strong>not</strong> &lt;i&gt;markup&lt;/i&gt;, one draw per"
        " <em>pull</em>, 2 * 3 * 4"
    )
