"""Pictures at the size a model may see: scaled down to its ceiling, never up."""

from __future__ import annotations

import io
from functools import lru_cache

from PIL import Image

from drafthand.model import Picture


@lru_cache(maxsize=32)
def fit(data: bytes, media_type: str, edge_px: int) -> Picture:
    """The picture with its longest side at most `edge_px`; the same bytes where it fits already.

    Deterministic, so that a request's prefix stays byte-identical from turn to turn.
    """
    with Image.open(io.BytesIO(data)) as image:
        scale = edge_px / max(image.size)
        if scale >= 1:
            return Picture(media_type, data)
        size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
        out = io.BytesIO()
        image.convert("RGB").resize(size, Image.Resampling.LANCZOS).save(out, "PNG", optimize=False)
    return Picture("image/png", out.getvalue())
