from __future__ import annotations

from base64 import b64encode

import pytest

from rxagent.errors import RequestError
from rxagent.messages import Audio, File, Image, Text, UserMessage
from rxagent.requests import ChatRequest
from rxagent.wire import GeminiDialect
from rxagent.wire.media import data_url, in_bytes
from tests.wire.dialects import DIALECTS

SHOT = Image(data=b"\xff\x00?", media_type="image/webp")


def encoded(name: str, part: Image) -> bytes:
    request = ChatRequest(messages=(UserMessage.of("x", part),))
    return DIALECTS[name].dialect.encode(request, model="m", stream=True)


@pytest.mark.parametrize("name", DIALECTS)
def test_a_data_url_is_sent_as_the_bytes_in_it(name: str) -> None:
    assert encoded(name, Image(url=data_url(SHOT))) == encoded(name, SHOT)


def test_a_data_url_says_what_is_in_it() -> None:
    body = b64encode(b"hi").decode()
    sound = Audio(url=f"DATA:audio/mpeg;base64,{body}")
    assert in_bytes(sound) == Audio(data=b"hi", media_type="audio/mpeg")
    assert in_bytes(File(url="data:text/plain;charset=x,a%20b", name="n")) == File(
        data=b"a b", media_type="text/plain", name="n"
    )
    assert in_bytes(Image(url="data:,%ff")) == Image(data=b"\xff")


@pytest.mark.parametrize("part", [Text(text="data:"), SHOT, Image(url="http://x/y")])
def test_any_other_part_stays_as_it_is(part: Text | Image) -> None:
    assert in_bytes(part) is part


@pytest.mark.parametrize("url", ["data:image/png", "data:;base64,a", "data:;base64,*"])
def test_a_data_url_that_cannot_be_read_is_refused(url: str) -> None:
    with pytest.raises(RequestError, match="data URL"):
        in_bytes(Image(url=url))


@pytest.mark.parametrize(
    ("part", "kind"),
    [
        (Image(url="https://e.org/photo.JPG?x=1"), b"image/jpeg"),
        (Image(url="gs://b/photo.webp"), b"image/webp"),
        (Image(url="https://e.org/photo"), b"image/png"),
        (Image(url="https://e.org/a.jpg", media_type="image/gif"), b"image/gif"),
    ],
)
def test_gemini_knows_a_picture_by_the_suffix_of_its_address(
    part: Image, kind: bytes
) -> None:
    request = ChatRequest(messages=(UserMessage.of(part),))

    body = GeminiDialect().encode(request, model="m", stream=True)

    assert b'"mimeType":"%b"' % kind in body
