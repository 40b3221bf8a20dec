from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest

from rxagent.guards import Pattern, TextGuard, patterns, redact
from rxagent.guards.patterns import (
    API_KEY,
    CARD,
    CHINA_ID,
    EMAIL,
    IBAN,
    IPV4,
    IPV6,
    PHONE,
    PRIVATE_KEY,
    US_SSN,
)
from rxagent.testing import assert_guard_laws, every_cut

ALL: list[Pattern] = [getattr(patterns, name) for name in patterns.__all__]

KEYS = {
    "openai": "sk-proj-" + "aB3_" * 12,
    "anthropic": "sk-ant-api03-" + "xY9-" * 10 + "AA",
    "stripe": "sk_live_" + "a1B2" * 6,
    "github": "ghp_" + "a1B2" * 9,
    "github, fine-grained": "github_pat_" + "A1b2" * 8,
    "gitlab": "glpat-" + "a1B2" * 5,
    "amazon": "AKIA" + "ABCD1234" * 2,
    "google": "AIza" + "a1B2_" * 7,
    "slack": "xoxb-123456789012-abcdefABCDEF",
    "hugging face": "hf_" + "aB1c" * 8,
    "npm": "npm_" + "aB1c" * 9,
    "sendgrid": "SG." + "a1B2" * 5 + "ab." + "a1B2" * 10 + "abc",
    "json web token": "eyJ" + "a1B2" * 4 + ".eyJ" + "a1B2" * 4 + "." + "a1B2" * 4,
}

FOUND: list[tuple[Pattern, str]] = [
    *((API_KEY, key) for key in KEYS.values()),
    (CARD, "4111111111111111"),
    (CARD, "4111 1111 1111 1111"),
    (CARD, "5555-5555-5555-4444"),
    (CARD, "3782 822463 10005"),
    (CARD, "378282246310005"),
    (CHINA_ID, "11010519491231002X"),
    (CHINA_ID, "11010519491231002x"),
    (EMAIL, "ann@example.org"),
    (EMAIL, "ann.lee+list@mail.example.co.uk"),
    (EMAIL, "žofie@příklad.cz"),
    (EMAIL, "a-b@example.co.jp"),
    (IBAN, "DE89370400440532013000"),
    (IBAN, "DE89 3704 0044 0532 0130 00"),
    (IBAN, "gb82 west 1234 5698 7654 32"),
    (IBAN, "NO93 8601 1117 947"),
    (IBAN, "MT84 MALT 0110 0001 2345 MTLC AST0 01S"),
    (IPV4, "192.0.2.17"),
    (IPV6, "2001:db8::ff00:42:8329"),
    (IPV6, "::ffff:192.0.2.128"),
    (PHONE, "+49 30 901820"),
    (PHONE, "(555) 555-0100"),
    (PHONE, "555-555-0100"),
    (PHONE, "13812345678"),
    (PRIVATE_KEY, "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----"),
    (PRIVATE_KEY, "-----BEGIN RSA PRIVATE KEY-----\nA\n-----END RSA PRIVATE KEY-----"),
    (US_SSN, "123-45-6789"),
    (US_SSN, "123 45 6789"),
]

NOT_FOUND: list[tuple[Pattern, str]] = [
    (API_KEY, "task-force-of-the-whole-town"),
    (API_KEY, "sk-short"),
    (CARD, "4111111111111112"),  # the check digit
    (CARD, "41111111111111111111"),  # 20 digits
    (CHINA_ID, "110105194912310021"),
    (CHINA_ID, "11010519491331002X"),  # month 13
    (EMAIL, "ann@example"),
    (EMAIL, "@example.org"),
    (IBAN, "DE89370400440532013001"),
    (IBAN, "DE89 3704 0044"),
    (IPV4, "1.2.3"),
    (IPV4, "1.2.3.4.5"),
    (IPV4, "192.0.2.256"),
    (IPV6, "12:30:45"),
    (IPV6, "std::vector"),
    (IPV6, "a::b"),
    (PHONE, "5550100"),
    (PHONE, "+1"),
    (US_SSN, "000-45-6789"),
    (US_SSN, "123-45-67890"),
    (US_SSN, "123-45 6789"),
]

PROSE = """\
It was a bright morning, and the whole street was still asleep.  Anna had walked down to
the harbour, as she did on most days, to look at the boats and to think about nothing in
particular.  She liked the smell of tar and salt; she liked the gulls less.  An old man
sat on the wall, with a pipe that had gone out long ago, and told the same story that he
had told the week before.  Nobody minded.  There were 3 ships in the bay that day (one
of them, so he said, had come all the way from Valparaíso in 41 days), and the first
sailors were on their way up to the inn: hungry, loud and well paid - for one night.
"""

CHINESE = """\
那是一个明亮的早晨，整条街还在沉睡。安娜走到港口，像往常一样看着船，什么也没想。她喜欢焦油和盐的气味。
一位老人坐在墙边，烟斗早已熄灭，又讲了一遍上周讲过的故事。那天海湾里有3艘船，其中一艘走了41天。
"""


def joined(guard: TextGuard, pieces: Sequence[str]) -> str:
    transducer = guard()
    out = [text for piece in pieces for text in transducer.feed(piece)]
    return "".join([*out, *transducer.flush()])


@pytest.mark.parametrize(("pattern", "text"), FOUND)
def test_a_ready_pattern_finds_what_it_is_for_wherever_it_is_cut(
    pattern: Pattern, text: str
) -> None:
    guard = redact(pattern, "[X]")

    for pieces in every_cut(f"It is {text}, or ({text})."):
        assert joined(guard, list(pieces)) == "It is [X], or ([X])."


@pytest.mark.parametrize(("pattern", "text"), NOT_FOUND)
def test_a_ready_pattern_leaves_what_only_looks_like_it(
    pattern: Pattern, text: str
) -> None:
    said = f"It is {text}, or ({text})."

    for pieces in every_cut(said):
        assert joined(redact(pattern), list(pieces)) == said


def test_a_real_one_is_found_behind_what_fails_its_check() -> None:
    said = "1234 4111 1111 1111 1111 and 4111 1111 1111 1111 12 times"

    assert joined(redact(CARD), [said]) == "1234 [REDACTED] and [REDACTED] 12 times"


def test_a_private_key_that_breaks_off_does_not_get_out() -> None:
    broken = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq\nhkiG9w0"

    assert joined(redact(PRIVATE_KEY), list(f"Here: {broken}")) == "Here: [REDACTED]"


def test_a_private_key_longer_than_what_is_held_is_replaced_once() -> None:
    block = f"-----BEGIN PRIVATE KEY-----\n{'MIIE' * 50}\n-----END PRIVATE KEY-----"
    guard = redact(PRIVATE_KEY, max_hold_chars=64)

    for pieces in (list(f"Here: {block}. Bye"), [f"Here: {block}. Bye"]):
        assert joined(guard, pieces) == "Here: [REDACTED]. Bye"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("请联系zhang@example.com或者", "请联系[X]或者"),
        ("メールはa-b@example.co.jpまで", "メールは[X]まで"),
        ("메일은 kim@example.com으로", "메일은 [X]으로"),
    ],
)
def test_an_address_ends_where_letters_without_spaces_begin(
    text: str, wanted: str
) -> None:
    for pieces in every_cut(text):
        assert joined(redact(EMAIL, "[X]"), list(pieces)) == wanted


@pytest.mark.parametrize("prose", [PROSE, CHINESE], ids=["english", "chinese"])
@pytest.mark.parametrize("pattern", [*ALL, ALL], ids=[*patterns.__all__, "all"])
def test_of_ordinary_prose_three_characters_are_held_at_most_on_average(
    pattern: Pattern | list[Pattern], prose: str
) -> None:
    guard = redact(pattern)
    dice = random.Random(6)
    cuts = sorted(dice.sample(range(len(prose)), len(prose) // 5))
    pieces = [prose[start:end] for start, end in pairwise([0, *cuts, len(prose)])]

    for said in (list(prose), pieces):
        transducer: Any = guard()
        held: list[int] = []
        for piece in said:
            transducer.feed(piece)
            held.append(transducer.held)
        assert sum(held) / len(held) <= 3
    assert joined(guard, list(prose)) == prose


@pytest.mark.parametrize("pattern", ALL, ids=patterns.__all__)
def test_a_ready_pattern_holds_the_laws_of_guards(pattern: Pattern) -> None:
    found = next(text for each, text in FOUND if each is pattern)

    assert_guard_laws(redact(pattern), f"Not 12 but {found[:60]}; really.")
