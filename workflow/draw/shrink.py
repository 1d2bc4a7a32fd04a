"""Pictures of few bytes: PNGs of figures with a palette of their own; for pages a smaller format,
still fewer colours, and thumbnails.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from workflow.draw.style import DPI

COLOURS = 256  # of a PNG
PACKED = 8  # the level of its compression: the last one, 9, takes twice the time for 3 %
ALMOST_WHITE = 252  # of 255: the mean of white and of edges of letters
SHOWN = 64  # of what a page shows
ENDING = ".webp"  # without loss, a fifth smaller than the smallest PNG
SMALL = 440  # pixels: the width of a thumbnail


def named(picture: str) -> str:
    """What a picture is called in the site, where PNGs become smaller."""
    stem = picture.removesuffix(".png")
    return picture if stem == picture else f"{stem}{ENDING}"


def put(picture: Path, folder: Path) -> None:
    """Copy a PNG into a folder of the site with a palette of its own: figures have few colours, and
    a fifth of the bytes is left.
    """
    with Image.open(picture) as image:
        _write(image.convert("RGB"), folder / named(picture.name), SHOWN)


def write(figure: Figure, path: Path) -> None:
    """Write a figure as PNG with a palette of its own, of which git keeps every version for good;
    without the time and the programs that made it.
    """
    canvas = FigureCanvasAgg(figure)
    figure.set_dpi(DPI)
    canvas.draw()
    pixels = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    _palette(pixels, COLOURS).save(path, "PNG", compress_level=PACKED, dpi=(DPI, DPI))


def put_small(picture: Path, target: Path) -> tuple[int, int]:
    """Write a thumbnail of a picture; returns its width and height in pixels."""
    with Image.open(picture) as image:
        whole = image.convert("RGB")
    whole.thumbnail((SMALL, SMALL), Image.Resampling.LANCZOS)
    _write(whole, target, SHOWN)
    return whole.size


def _write(image: Image.Image, target: Path, colours: int) -> None:
    _palette(image, colours).convert("RGB").save(target, "WEBP", lossless=True)


def _palette(image: Image.Image, colours: int) -> Image.Image:
    """The same picture in few colours, each the mean of some; among them the white of paper."""
    method, dither = Image.Quantize.FASTOCTREE, Image.Dither.NONE
    few = image.quantize(colours, method=method, dither=dither)
    few.putpalette([255 if value >= ALMOST_WHITE else value for value in few.getpalette() or []])
    return few
