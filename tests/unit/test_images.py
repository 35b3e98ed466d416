"""A picture under a model's ceiling: size, squares, bytes, proportions; and the same every time."""

import io
import random
import re
import struct
import zlib
from typing import Any

import pytest
from drafthand.images import UnreadablePicture, fit, fitting_size, patches, readable
from drafthand.model import ImageCeiling, Picture
from drafthand.vendors.models import models
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageDraw, ImageOps

WIDE = ImageCeiling(edge_px=2000, patches=None, patch_px=28, max_bytes=3_750_000)
SIDES = st.integers(1, 400)
CEILINGS = st.builds(
    ImageCeiling,
    edge_px=st.integers(16, 300),
    patches=st.none() | st.integers(1, 60),
    patch_px=st.sampled_from([14, 28, 32]),
    max_bytes=st.integers(10_000, 60_000),
)
MODES = st.sampled_from(["1", "L", "P", "LA", "RGB", "RGBA", "I;16", "CMYK"])


def noise(width: int, height: int, mode: str = "RGB") -> Image.Image:
    pixels = random.Random(width * height).randbytes(width * height * 3)
    if mode == "I;16":
        return Image.frombytes(mode, (width, height), pixels[: width * height * 2])
    return Image.frombytes("RGB", (width, height), pixels).convert(mode)


def drawing(width: int, height: int) -> Image.Image:
    image = Image.new("RGB", (width, height), "white")
    draw = ImageDraw.Draw(image)
    for place in range(0, width, 40):
        draw.line((place, 0, width - place, height), fill="black", width=2)
    return image


def saved(image: Image.Image, form: str = "PNG", **options: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


def claiming(width: int, height: int) -> bytes:
    """A PNG of a few bytes that says it is this large."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


def opened(picture: Picture) -> Image.Image:
    image = Image.open(io.BytesIO(picture.data))
    assert Image.MIME[image.format or ""] == picture.media_type
    return image


@settings(max_examples=60, deadline=None)
@given(SIDES, SIDES, MODES, CEILINGS)
def test_any_picture_comes_out_under_the_ceiling_in_proportion_and_always_the_same(
    width: int, height: int, mode: str, ceiling: ImageCeiling
) -> None:
    data = saved(noise(width, height, mode), "TIFF" if mode == "CMYK" else "PNG")

    picture = fit(data, ceiling)

    seen = opened(picture)
    assert max(seen.size) <= min(ceiling.edge_px, max(width, height))
    assert ceiling.patches is None or patches(*seen.size, ceiling.patch_px) <= ceiling.patches
    assert len(picture.data) <= ceiling.max_bytes
    scale = max(seen.size) / max(width, height)
    assert abs(seen.width - width * scale) <= 1
    assert abs(seen.height - height * scale) <= 1
    assert fit(data, ceiling) == picture
    assert fit(picture.data, ceiling) == picture


@given(st.integers(1, 10_000), st.integers(1, 10_000), CEILINGS)
def test_no_larger_size_would_fit(width: int, height: int, ceiling: ImageCeiling) -> None:
    size = fitting_size(width, height, ceiling)

    longest = max(size)
    if longest < min(ceiling.edge_px, max(width, height)):
        scale = (longest + 1) / max(width, height)
        more = max(1, round(width * scale)), max(1, round(height * scale))
        assert ceiling.patches is not None
        assert patches(*more, ceiling.patch_px) > ceiling.patches


@pytest.mark.parametrize("form", ["PNG", "JPEG"])
def test_what_fits_keeps_its_bytes_and_is_called_what_it_is(form: str) -> None:
    data = saved(drawing(800, 600), form)

    assert fit(data, WIDE) == Picture(f"image/{form.lower()}", data)


def test_a_drawing_stays_a_png_and_what_weighs_much_more_than_its_jpeg_becomes_one() -> None:
    photograph = noise(60, 40).resize((1200, 800), Image.Resampling.BICUBIC)

    assert fit(saved(drawing(2400, 1600)), WIDE).media_type == "image/png"
    assert fit(saved(photograph), WIDE).media_type == "image/jpeg"


def test_what_shines_through_is_white() -> None:
    line = Image.new("RGBA", (100, 100), (0, 0, 0, 0))
    ImageDraw.Draw(line).line((0, 50, 100, 50), fill=(0, 0, 0, 255), width=10)

    seen = opened(fit(saved(line), WIDE))

    assert (seen.mode, seen.getpixel((5, 5)), seen.getpixel((50, 50))) == ("RGB", (255, 255, 255), (0, 0, 0))


def test_sixteen_bits_of_grey_keep_their_greys() -> None:
    grey = Image.new("I;16", (3000, 30), 0x8000)

    assert opened(fit(saved(grey), WIDE)).getpixel((5, 5)) == (128, 128, 128)


def test_a_photograph_that_lies_on_its_side_is_put_upright() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was turned by a quarter
    image = Image.new("RGB", (400, 200), "white")
    image.paste("black", (0, 0, 200, 200))

    seen = opened(fit(saved(image, "JPEG", exif=exif), WIDE))

    assert seen.size == (200, 400)
    assert seen.getpixel((100, 50)) == (0, 0, 0)
    assert seen.getexif().get(0x0112) is None


@pytest.mark.parametrize(
    ("model", "size"),
    [
        ("claude-sonnet-5-5", (2000, 1125)),
        ("claude-haiku-4-5", (1456, 819)),
        ("gpt-6.2-astra", (2048, 1152)),
        ("gemini-3.8-flash", (1568, 882)),
    ],
)
def test_a_rendering_of_4k_comes_at_each_models_own_ceiling(model: str, size: tuple[int, int]) -> None:
    assert fitting_size(3840, 2160, models()[model].image_ceiling) == size


def test_no_picture_for_claude_has_a_side_that_many_pictures_in_a_request_would_forbid() -> None:
    claudes = [spec for spec in models().values() if spec.dialect == "anthropic_messages"]

    assert max(spec.image_edge_px for spec in claudes) <= 2000


@pytest.mark.parametrize("orientation", range(2, 9))
@pytest.mark.parametrize("form", ["PNG", "JPEG"])
def test_a_square_that_is_turned_or_mirrored_is_put_upright_too(form: str, orientation: int) -> None:
    corner = Image.new("RGB", (200, 200), "white")
    corner.paste("black", (0, 0, 100, 50))
    exif = Image.Exif()
    exif[0x0112] = orientation
    data = saved(corner, form, exif=exif)

    seen = opened(fit(data, WIDE))

    upright = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
    places = [(25, 25), (75, 25), (175, 25), (25, 75), (175, 75), (25, 175), (75, 175), (175, 175)]
    dark = [place for place in places if sum(seen.convert("RGB").getpixel(place)) < 300]  # type: ignore[arg-type]
    assert dark == [place for place in places if sum(upright.getpixel(place)) < 300]  # type: ignore[arg-type]
    assert seen.getexif().get(0x0112) is None


@pytest.mark.parametrize("side", [100, 3000])
def test_a_jpeg_in_printers_colours_comes_in_those_of_a_screen(side: int) -> None:
    red = saved(Image.new("CMYK", (side, side), (0, 255, 255, 0)), "JPEG")

    seen = opened(fit(red, WIDE))

    assert (seen.mode, seen.getpixel((5, 5))) == ("RGB", (255, 0, 0))


WHOLE = saved(noise(300, 200))
BAD = {
    "empty": (b"", "no picture"),
    "text": (b"no picture", "no picture"),
    "svg": (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "no picture"),
    "postscript": (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\n", "no picture"),
    "only a head": (WHOLE[:33], "no picture"),
    "half a PNG": (WHOLE[: len(WHOLE) // 2], "not whole"),
    "half a JPEG": (saved(noise(300, 200), "JPEG")[:9000], "not whole"),
    "half a WebP": (saved(noise(300, 200), "WEBP")[:9000], "no picture|not whole"),
    "half a TIFF": (saved(noise(300, 200), "TIFF")[:9000], "no picture|not whole"),
    "a flipped byte": (WHOLE[:5000] + bytes([WHOLE[5000] ^ 255]) + WHOLE[5001:], "broken"),
    "a bomb": (claiming(100_000, 100_000), "more than 50,000,000 pixels"),
    "somewhat too large": (claiming(10_000, 5_001), "50,010,000 pixels, more than 50,000,000"),
}


@pytest.mark.parametrize(("data", "reason"), BAD.values(), ids=BAD.keys())
def test_what_can_not_be_shown_has_a_reason_and_one_kind_of_error(data: bytes, reason: str) -> None:
    told = readable(data)

    assert re.search(reason, str(told))
    with pytest.raises(UnreadablePicture, match=re.escape(str(told))):
        fit(data, WIDE)


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF"])
def test_a_whole_picture_is_readable(form: str) -> None:
    assert readable(saved(noise(30, 20), form)) is None


@given(st.binary(max_size=40), st.integers(0, len(WHOLE)))
@settings(max_examples=60)
def test_any_damage_is_a_reason_or_none_and_never_another_error(patch: bytes, at: int) -> None:
    damaged = WHOLE[:at] + patch + WHOLE[at + len(patch) :]

    told = readable(damaged)

    assert told is None or told.startswith("it ")
