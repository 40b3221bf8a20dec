"""One request and what came of it, as a line of a cassette."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

from rxagent.testing._secrets import hidden, masked

__all__ = ["Answered", "Asked", "Cut", "End", "Failure", "Recorded"]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A request, without what is secret.

    Args:
        method: Of HTTP.
        path: With the query; the host is of no account.
        body: As it was sent.
    """

    method: str
    path: str
    body: bytes

    @cached_property
    def content(self) -> object:
        """The body as JSON, as text, or as Base64: what it can be."""
        text = _text(self.body)
        if isinstance(text, str):
            try:
                return {"json": json.loads(text)} if text else {}
            except (ValueError, RecursionError):
                return {"text": text}
        return text

    @cached_property
    def key(self) -> str:
        """Equal for requests that ask for the same."""
        body = json.dumps(self.content, sort_keys=True)
        return f"{self.method} {self.path} {body}"

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """The bytes of one read.

    Args:
        at_s: Seconds after the request.
        data: As they came.
    """

    at_s: float
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A response.

    Args:
        status: Of HTTP.
        headers: Without those that are secret.
        cuts: The body, read by read, as far as it was read.
    """

    status: int
    headers: tuple[tuple[str, str], ...]
    cuts: tuple[Cut, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """What the network did.

    Args:
        kind: The name of httpx's error.
        message: Its words.
    """

    kind: str
    message: str


End: TypeAlias = Literal["complete", "left"] | Failure
"""How it ended; ``"left"`` if whoever read it went away before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A request and what came of it.

    Args:
        number: In the order of the requests, from 0.
        asked: The request.
        answered: The response; ``None`` if it never came.
        end: How that ended.
    """

    number: int
    asked: Asked
    answered: Answered | None
    end: End

    def without(self, secrets: Iterable[bytes]) -> Recorded:
        """Return the same with other words for what is secret in what came back."""
        secrets = list(secrets)
        answered, end = self.answered, self.end
        if answered is not None:
            datas = masked([cut.data for cut in answered.cuts], secrets)
            answered = replace(
                answered,
                headers=tuple(
                    (name, hidden(value.encode(), secrets).decode())
                    for name, value in answered.headers
                ),
                cuts=tuple(
                    replace(cut, data=data)
                    for cut, data in zip(answered.cuts, datas, strict=True)
                ),
            )
        if isinstance(end, Failure):
            said = hidden(end.message.encode(), secrets).decode()
            end = replace(end, message=said)
        return replace(self, answered=answered, end=end)

    def line(self) -> str:
        """Return it as a line of JSON."""
        answered = self.answered
        response = answered and {
            "status": answered.status,
            "headers": answered.headers,
            "cuts": [[round(cut.at_s, 3), _text(cut.data)] for cut in answered.cuts],
        }
        end = self.end
        if isinstance(end, Failure):
            ended: object = {"error": end.kind, "message": end.message}
        else:
            ended = end
        asked = {
            "method": self.asked.method,
            "path": self.asked.path,
            "body": self.asked.content,
        }
        whole = {
            "number": self.number,
            "request": asked,
            "response": response,
            "end": ended,
        }
        return json.dumps(whole, ensure_ascii=False)

    @classmethod
    def of_line(cls, line: str) -> Recorded:
        """Read what `line` has written.

        Raises:
            ValueError: If it is something else.
        """
        try:
            # Whatever is not as it should be is said by the error of the access.
            whole: Any = json.loads(line)
            asked, response, end = whole["request"], whole["response"], whole["end"]
            return cls(
                number=int(whole["number"]),
                asked=Asked(
                    method=str(asked["method"]),
                    path=str(asked["path"]),
                    body=_body(asked["body"]),
                ),
                answered=None if response is None else _answered(response),
                end=_end(end),
            )
        except (KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ValueError(f"{type(error).__name__} {error}") from None


def _answered(response: Any) -> Answered:
    return Answered(
        status=int(response["status"]),
        headers=tuple((str(name), str(value)) for name, value in response["headers"]),
        cuts=tuple(
            Cut(at_s=float(at_s), data=_bytes(data)) for at_s, data in response["cuts"]
        ),
    )


def _end(end: Any) -> End:
    if end in ("complete", "left"):
        return "complete" if end == "complete" else "left"
    return Failure(kind=str(end["error"]), message=str(end["message"]))


def _body(content: Any) -> bytes:
    if "json" in content:
        return json.dumps(content["json"]).encode()
    if "text" in content:
        return _bytes(content["text"])
    return _bytes(content) if content else b""


def _text(data: bytes) -> str | dict[str, str]:
    """Bytes as text, if they are UTF-8, so that a cassette can be read."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": b64encode(data).decode()}


def _bytes(text: Any) -> bytes:
    if isinstance(text, str):
        return text.encode()
    return b64decode(text["base64"], validate=True)
