"""Characters that look like a letter or digit of ASCII.

Made of Unicode's table of confusables by ``tests/advisors/look_alikes.py``.

Source: Unicode Technical Standard #39, "Unicode Security Mechanisms", section 4 and
its data file confusables.txt.  The data is copyright 1991-2025 Unicode, Inc., and used
under the Unicode License V3 (SPDX: Unicode-3.0), https://www.unicode.org/license.txt.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["ALIKE", "MARKED", "VERSION"]

VERSION = "17.0.0"

_ALIKE = {
    "2": ("01A7 03E8 14BF A644 A6EF A75A 1CCF2"),
    "3": (
        "01B7 021C 0417 04E0 0969 0AE9 2C9C 2CC4 2CCC A76A A7AB 118CA 16F3B 1CCF3 1D206"
    ),
    "4": ("13CE 118AF 1CCF4"),
    "5": ("01BC 118BB 1CCF5"),
    "6": ("03EC 0431 13EE 2CD2 2CD3 2CDC 118D5 1CCF6"),
    "7": ("104D2 118C6 1CCF7 1D212"),
    "8": ("0222 0223 09EA 0A6A 0B03 1031A 1CCF8"),
    "9": ("09ED 0A67 0B68 0D6D 2CCA 2CCB A76E 118AC 118CC 118D6 1CCF9"),
    "a": ("0251 0391 03B1 0410 0430 13AA 15C5 237A A4EE 102A0 16F40 1CCD6"),
    "b": (
        "0184 0392 0412 042C 13CF 13F4 1472 15AF 15F7 2C82 A4D0 A7B4 10282 102A1 10301 "
        "16EB6 1CCD7"
    ),
    "c": (
        "0421 0441 1004 105A 13DF 1D04 2CA4 2CA5 A4DA ABAF 102A2 10302 10415 1043D "
        "1051C 118E9 118F2 1CCD8 1F74C"
    ),
    "d": ("0501 13A0 13E7 146F 15DE 15EA A4D2 A4D3 1CCD9"),
    "e": ("0395 0415 0435 04BD 13AC 212E 22FF 2D39 A4F0 AB32 10286 118A6 118AE 1CCDA"),
    "f": (
        "0192 03DC 0584 15B4 1E9D A4DD A798 A799 AB35 10287 102A5 10525 118A2 118C2 "
        "1CCDB 1D213"
    ),
    "g": ("018D 0261 050C 0581 13C0 13F3 1D83 A4D6 1CCDC"),
    "h": ("0397 041D 04BB 0570 13BB 13C2 157C 2C8E A4E7 102CF 1CCDD"),
    "i": ("0131 0269 026A 03B9 0456 0582 13A5 2373 2C93 A647 AB75 118C3"),
    "j": ("037F 03F3 0408 0458 13AB 148D A4D9 A7B2 1CCDF"),
    "k": ("039A 041A 13E6 16D5 2C94 A4D7 10518 1CCE0"),
    "l": ("13DE 14AA 2CD0 A4E1 1041B 10526 118A3 118B2 16F16 1CCE1 1D22A"),
    "m": ("039C 03FA 041C 13B7 15F0 16D6 2C98 A4DF 102B0 10311 11700 118E3 1CCE2"),
    "n": ("039D 0578 057C 2C9A A4E0 10513 1CCE3"),
    "o": (
        "039F 03BF 03C3 03ED 041E 043E 0555 0585 06F5 0966 09E6 0A66 0AE6 0B20 0B66 "
        "0BE6 0C02 0C66 0C82 0CE6 0D02 0D20 0D66 0D82 0E50 0ED0 101D 1040 10FF 12D0 "
        "17E0 1D0F 1D11 2C9E 2C9F 2D54 3007 A4F3 AB3D 10292 102AB 10404 1042C 104C2 "
        "104EA 10516 114D0 118B5 118C8 118D7 118E0 11DE0 1CCE4 1CCF0"
    ),
    "p": (
        "00FE 01BF 03A1 03C1 03F8 0420 0440 13E2 146D 2374 2CA2 2CA3 2CCE 2CCF A4D1 "
        "10295 1CCE5"
    ),
    "q": ("051B 0563 0566 2D55 1CCE6"),
    "r": (
        "01A6 0433 13A1 13D2 1587 1D26 2C85 A4E3 AB47 AB48 AB81 104B4 16F35 1CCE7 1D216"
    ),
    "s": (
        "01BD 0405 0455 054F 0D1F 13D5 13DA A4E2 A731 ABAA 10296 10420 10448 118C1 "
        "16F3A 1CCE8"
    ),
    "t": (
        "03A4 0422 13A2 22A4 27D9 2CA6 A4D4 10297 102B1 10315 118BC 16F0A 1CCE9 1F768"
    ),
    "u": (
        "028B 03C5 054D 057D 1200 144C 1D1C 222A 22C3 A4F4 A79F AB4E AB52 104CE 104F6 "
        "118B8 118D8 16F42 1CCEA"
    ),
    "v": (
        "03BD 0474 0475 06F7 13D9 142F 1D20 2228 22C1 2D38 A4E6 A6DF ABA9 1051D 11706 "
        "118A0 118C0 16F08 1CCEB 1D20D"
    ),
    "w": (
        "026F 0448 0461 051C 051D 0561 13B3 13D4 1D21 2CBD A4EA AB83 1170A 1170E 1170F "
        "118E6 118EF 1CCEC"
    ),
    "x": (
        "00D7 03A7 0425 0445 1541 157D 166D 166E 16B7 2573 292B 292C 2A2F 2CAC 2D5D "
        "A4EB A7B3 10290 102B4 10317 10322 10527 118EC 1CCED"
    ),
    "y": (
        "0263 028F 03A5 03B3 0423 0443 04AE 04AF 10E7 13A9 13BD 1D8C 1EFF 2CA8 2CA9 "
        "A4EC AB5A 102B2 118A4 118DC 16F43 1CCEE"
    ),
    "z": ("0396 13C3 1D22 A4DC AB93 102F5 118A9 118C4 118E5 1CCEF"),
    "ǀ": (
        "0196 01C0 0399 0406 04C0 04CF 06F1 16C1 2223 23FD 2C92 2D4F A4F2 1028A 10309 "
        "10320 11DDA 11DE1 16EAA 16F28 1CCDE 1CCF1"
    ),
}

_MARKED = {
    "2": ("01BB"),
    "3": ("0498"),
    "a": ("2376"),
    "b": ("0180 0182 0183 0253 0411 0462 0463 048C 048D 1473"),
    "c": ("00A2 023C 04AA 04AB 20A1 1F16E"),
    "d": ("00D0 0110 0111 0189 018C 0256 0257 20AB"),
    "e": ("0246 0247 04BF"),
    "f": ("0191 1D6E"),
    "g": ("01E4 01E5 0260"),
    "h": ("0126 0127 0266 045B 04A2 04C7 04C9 13F2 2C67 A695"),
    "i": ("0268 1D7B 1D7C 2378"),
    "j": ("0248 0249"),
    "k": ("0199 049A 049E 20AD 2C69 A740"),
    "l": ("0141"),
    "m": ("04CD"),
    "n": ("014B 019D 019E 0273 03B7 0572 1D70 1018E"),
    "o": (
        "00D8 00F8 019F 0275 0398 03B8 0472 0473 04E8 04E9 13BE 13EB 2296 229D 236C "
        "2C90 2C91 2D31 2D41 A74A A74B AB3E AB74 AB8E ABBB 1D21A 1F714"
    ),
    "p": ("01A5 1D7D"),
    "q": ("02A0"),
    "r": ("024D 027C 027D 0493 1D72"),
    "s": ("0282 1D74"),
    "t": ("0166 0167 01AD 01AE 023E 04AC 1D75 20AE 2361"),
    "u": ("0244 045F 13CC 1D7E AB9C"),
    "v": ("10197 1F708"),
    "w": ("047D 20A9 A761 114C5"),
    "x": ("04B2 2A30 10196"),
    "y": ("00A5 01B4 024E 024F 04B0 04B1"),
    "z": ("01B5 01B6 0224 0225 0290 1D76"),
    "ǀ": ("0142 0197 019A 026B 026D"),
}


def _by_character(table: Mapping[str, str]) -> dict[str, str]:
    return {
        chr(int(code, 16)): letter
        for letter, codes in table.items()
        for code in codes.split()
    }


ALIKE: Mapping[str, str] = _by_character(_ALIKE)
"""From a character to the letter that it looks like; ``ǀ`` may be an i or an l."""

MARKED: Mapping[str, str] = _by_character(_MARKED)
"""From a character to the letter that it looks like, but for a stroke or a hook."""
