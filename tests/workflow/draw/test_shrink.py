"""Pictures of few bytes show what was drawn."""

import numpy as np
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from PIL import Image

from workflow.draw import shrink
from workflow.draw.style import DPI


def test_a_png_shows_what_was_drawn_in_fewer_bytes_and_keeps_its_size_on_paper(tmp_path):
    figure = Figure(figsize=(2, 1), dpi=DPI)
    cells = np.random.default_rng(0).integers(3, size=(80, 160))
    figure.figimage(
        cells.repeat(2, axis=0).repeat(2, axis=1),
        cmap=ListedColormap(["white", "#1F77B4", "#FF7F0E"]),
    )
    figure.savefig(tmp_path / "usual.png")
    shrink.write(figure, tmp_path / "small.png")
    with Image.open(tmp_path / "usual.png") as usual, Image.open(tmp_path / "small.png") as small:
        assert small.mode == "P"
        assert np.array_equal(np.asarray(small.convert("RGB")), np.asarray(usual)[..., :3])
        assert np.allclose(small.info["dpi"], DPI, atol=0.1)
        assert "Software" in usual.info and "Software" not in small.info
    assert (tmp_path / "small.png").stat().st_size < (tmp_path / "usual.png").stat().st_size
