"""Small grey images in a terminal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from distsvm.cli.output import Output

SHADES, ASCII_SHADES = " ░▒▓█", " .:*#"
DARKEST, LIGHTEST = 232, 255  # of the 256 colours, the greys


def drawn(images: np.ndarray, captions: Sequence[str], output: Output) -> list[str]:
    """Images side by side, two columns a pixel, with a caption below each.

    Parameters
    ----------
    images : array of shape (n, height, width), values in [0, 1]
    captions : n texts
    """
    width = 2 * images.shape[2]
    lines = []
    for row in range(images.shape[1]):
        lines.append("  " + "  ".join(_row(image[row], output) for image in images))
    lines.append("  " + "  ".join(f"→ {caption}"[:width].ljust(width) for caption in captions))
    return lines


def _row(pixels: np.ndarray, output: Output) -> str:
    if output.style.on:
        greys = DARKEST + np.rint(pixels * (LIGHTEST - DARKEST)).astype(int)
        return "".join(output.style.grey(grey, "  ") for grey in greys)
    shades = SHADES if output.unicode else ASCII_SHADES
    return "".join(2 * shades[round(float(p) * (len(shades) - 1))] for p in pixels)
