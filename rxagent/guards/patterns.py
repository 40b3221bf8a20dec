"""Ready patterns, for `redact` and `block`: what must not get out, as it is written.

Each has a name and, where the thing itself has a check digit, a check.  They look for
what is written as such things are; they do not know whether it is one.  To see them
apart: ``replace(EMAIL, replacement="[EMAIL]")``.
"""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import AddressValueError, IPv6Address
from itertools import pairwise
from types import MappingProxyType

from rxagent.guards._pattern import Pattern

__all__ = [
    "API_KEY",
    "CARD",
    "CHINA_ID",
    "EMAIL",
    "IBAN",
    "IPV4",
    "IPV6",
    "PHONE",
    "PRIVATE_KEY",
    "US_SSN",
]

_IBAN_LENGTHS: Mapping[int, str] = MappingProxyType(
    {
        15: "NO",
        16: "BE",
        18: "DK FI FK FO GL NL SD",
        19: "MK SI",
        20: "AT BA EE KZ LT LU MN XK",
        21: "CH HR LI LV",
        22: "BG BH CR DE GB GE IE ME RS VA",
        23: "AE GI IL IQ OM SO TL",
        24: "AD CZ ES MD PK RO SA SE SK TN VG",
        25: "LY PT ST",
        26: "IS TR",
        27: "BI DJ FR GR IT MC MR SM",
        28: "AL AZ BY CY DO GT HU LB NI PL SV",
        29: "BR EG PS QA UA",
        30: "JO KW MU YE",
        31: "MT SC",
        32: "LC",
        33: "RU",
    }
)
"""Characters of an account number, by country."""

_IBAN_CHARACTER = r"\ ?[A-Z0-9]"


def _is_card(text: str) -> bool:
    """The check digit of ISO/IEC 7812-1 (Luhn)."""
    digits = [int(char) for char in text if char.isdecimal()]
    doubled = [digit * 2 - 9 * (digit > 4) for digit in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _is_iban(text: str) -> bool:
    """The check digits of ISO 13616: the rest of a division by 97 is 1."""
    text = text.replace(" ", "").upper()
    return int("".join(str(int(char, 36)) for char in text[4:] + text[:4])) % 97 == 1


def _is_ipv6(text: str) -> bool:
    try:
        IPv6Address(text)
    except AddressValueError:
        return False
    # "a::b" is an address, and far more often a name in a program.
    return len(text) > 7 or any(char.isdecimal() for char in text)


def _is_china_id(text: str) -> bool:
    """The check digit of GB 11643-1999."""
    weighted = sum(
        int(char) * pow(2, 17 - place, 11) for place, char in enumerate(text[:17])
    )
    return "10X98765432"[weighted % 11] == text[17].upper()


def _iban() -> str:
    """One run of characters, which ends where its country's numbers do.

    It is written out: the engine sets up each repeated group anew for each place where
    it looks, so one for each length makes it several times slower.
    """
    lengths = sorted(_IBAN_LENGTHS)
    rest = ""
    for length, longer in reversed([*pairwise(lengths)]):
        rest = rf"(?(c{length})|{_IBAN_CHARACTER * (longer - length)}{rest})"
    rest = _IBAN_CHARACTER * (lengths[0] - 4) + rest
    countries = "|".join(
        f"(?<c{length}>{'|'.join(_IBAN_LENGTHS[length].split())})" for length in lengths
    )
    # What it looks for first spares it the countries at nearly every place.
    start = r"(?<![A-Za-z0-9])(?=[A-Za-z]{2}[0-9]{2})"
    return rf"{start}(?i:(?:{countries})[0-9]{{2}}{rest})(?![A-Za-z0-9])"


# These set off no words by spaces: an address in a sentence begins and ends among
# letters that are not its own.
_UNSPACED = "".join(
    rf"--\p{{{script}}}" for script in ("Han", "Hiragana", "Katakana", "Hangul", "Thai")
)
EMAIL = Pattern(
    name="email",
    expression=rf"(?V1)(?<![\w%+\-{_UNSPACED}])"
    rf"[\w%+\-{_UNSPACED}][\w.%+\-{_UNSPACED}]{{0,63}}"
    rf"@[\p{{L}}\p{{N}}.\-{_UNSPACED}]{{1,190}}\.[\p{{L}}{_UNSPACED}]{{2,24}}",
)
"""An e-mail address, of any script that sets off its words by spaces."""

PHONE = Pattern(
    name="phone",
    expression=r"(?<![\w+])(?:"
    r"\+[0-9](?:[ .()/-]{0,2}[0-9]){6,14}"
    r"|(?:\([0-9]{3}\) ?|[0-9]{3}[ .-])[0-9]{3}[ .-][0-9]{4}"
    r"|1[3-9][0-9]{9}"
    r")(?![0-9])",
)
"""A phone number: international with a +, of North America, or a mobile of China."""

CARD = Pattern(
    name="card",
    expression=r"(?<![0-9])(?:"
    r"[2-6][0-9]{12,18}"
    r"|[2-6][0-9]{3}([ -])[0-9]{4}\1[0-9]{4}\1[0-9]{4}"
    r"|3[0-9]{3}([ -])[0-9]{6}\2[0-9]{4,5}"
    r")(?![0-9])",
    check=_is_card,
)
"""The number of a payment card, in one piece or in groups."""

IBAN = Pattern(name="iban", expression=_iban(), check=_is_iban)
"""The number of a bank account, in one piece or in groups."""

_OCTET = "(?:25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])"
IPV4 = Pattern(
    name="ipv4",
    expression=rf"(?<![\w.])(?:{_OCTET}\.){{3}}{_OCTET}(?!\w|\.[0-9])",
)
"""An IPv4 address."""

IPV6 = Pattern(
    name="ipv6",
    expression=r"(?<![\w:.])(?=[0-9A-Fa-f]{0,4}:)(?:[0-9A-Fa-f]{0,4}:){2,7}"
    r"(?:(?:[0-9]{1,3}\.){3}[0-9]{1,3}|[0-9A-Fa-f]{1,4})?(?![\w:])",
    check=_is_ipv6,
)
"""An IPv6 address."""

API_KEY = Pattern(
    name="api key",
    expression=r"(?<![A-Za-z0-9])(?:"
    r"sk-[\w-]{20,}"  # OpenAI, Anthropic and who imitates them
    r"|[rs]k_(?:live|test)_[A-Za-z0-9]{16,}"  # Stripe
    r"|gh[oprsu]_[A-Za-z0-9]{36,}|github_pat_\w{22,}"
    r"|glpat-[\w-]{20,}"
    r"|A(?:KIA|SIA)[A-Z0-9]{16}|AIza[\w-]{35}"  # Amazon, Google
    r"|xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}"  # Slack
    r"|hf_[A-Za-z0-9]{30,}|npm_[A-Za-z0-9]{36}"
    r"|SG\.[\w-]{22}\.[\w-]{43}"
    r"|eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}"  # JSON web tokens
    r")(?![A-Za-z0-9])",
)
"""A key or token of a service that marks its own, by how they start."""

PRIVATE_KEY = Pattern(
    name="private key",
    expression=r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?"
    r"(?:-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----|\Z)",
)
"""A PEM block of a private key; one that breaks off, to the end of the text."""

US_SSN = Pattern(
    name="us ssn",
    expression=r"(?<![\w-])(?!000|666|9)[0-9]{3}([ -])(?!00)[0-9]{2}\1"
    r"(?!0000)[0-9]{4}(?![\w-])",
)
"""A social security number of the United States, in groups."""

CHINA_ID = Pattern(
    name="china id",
    expression=r"(?<![0-9A-Za-z])[1-9][0-9]{5}(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])"
    r"(?:0[1-9]|[12][0-9]|3[01])[0-9]{3}[0-9Xx](?![0-9A-Za-z])",
    check=_is_china_id,
)
"""The number of a resident of China."""
