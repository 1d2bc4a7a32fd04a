"""Pictures on their way to a page: thumbnails, and fewer colours, so that a whole site is small."""

from __future__ import annotations

from pathlib import Path

from PIL import Image

COLOURS = 256
SMALL = 440  # pixels: the width of a thumbnail


def put(picture: Path, target: Path) -> None:
    """Copy a PNG with a palette of its own: figures have few colours, and a quarter of the bytes
    is left.
    """
    with Image.open(picture) as image:
        _write(image.convert("RGB"), target, COLOURS)


def put_small(picture: Path, target: Path) -> tuple[int, int]:
    """Write a thumbnail of a picture; returns its width and height in pixels."""
    with Image.open(picture) as image:
        whole = image.convert("RGB")
    whole.thumbnail((SMALL, SMALL), Image.Resampling.LANCZOS)
    _write(whole, target, COLOURS // 4)
    return whole.size


def _write(image: Image.Image, target: Path, colours: int) -> None:
    palette = image.quantize(colours, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    palette.save(target, "PNG", compress_level=6)
