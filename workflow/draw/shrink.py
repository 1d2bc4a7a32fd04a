"""Pictures on their way to a page: thumbnails, fewer colours and a smaller format, so that a whole
site is small.
"""

from __future__ import annotations

from pathlib import Path

from PIL import Image

COLOURS = 256  # of what is committed
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


def repack(picture: Path, target: Path) -> None:
    """Write a PNG with a palette of its own, still as PNG: git keeps every version for good."""
    with Image.open(picture) as image:
        _palette(image.convert("RGB"), COLOURS).save(target, optimize=True)


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
    return image.quantize(colours, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
