from __future__ import annotations

from rxagent.advisors._look_alikes import ALIKE, MARKED, VERSION
from tests.advisors.look_alikes import TABLE, look_alikes, prototypes, written_anew

EXCERPT = """\
# confusables.txt
# Version: 99.1.0
#
0049 ;\t006C ;\tMA\t# ( I → l ) LATIN CAPITAL LETTER I → LATIN SMALL LETTER L\t#
0031 ;\t006C ;\tMA\t# ( 1 → l ) DIGIT ONE → LATIN SMALL LETTER L\t#
0030 ;\t004F ;\tMA\t# ( 0 → O ) DIGIT ZERO → LATIN CAPITAL LETTER O\t#
006D ;\t0072 006E ;\tMA\t# ( m → rn ) LATIN SMALL LETTER M → ...\t#

0430 ;\t0061 ;\tMA\t# ( а → a ) CYRILLIC SMALL LETTER A → LATIN SMALL LETTER A\t#
0399 ;\t006C ;\tMA\t# ( Ι → l ) GREEK CAPITAL LETTER IOTA → ...\t#
041E ;\t004F ;\tMA\t# ( О → O ) CYRILLIC CAPITAL LETTER O → ...\t#
118E3 ;\t0072 006E ;\tMA\t# ( 𑣣 → rn ) WARANG CITI DIGIT THREE → ...\t#
00F8 ;\t006F 0338 ;\tMA\t# ( ø → o̸ ) LATIN SMALL LETTER O WITH STROKE → ...\t#
1D41A ;\t0061 ;\tMA\t# ( 𝐚 → a ) MATHEMATICAL BOLD SMALL A → ...\t#
05D5 ;\t006C ;\tMA\t# ( ו → l ) HEBREW LETTER VAV → LATIN SMALL LETTER L\t#
0391 ;\t0410 ;\tMA\t# (made up: looks like a letter that is not Latin)\t#
"""


def test_the_table_is_made_of_what_looks_like_a_letter_of_ascii() -> None:
    plain, marked = look_alikes(prototypes(EXCERPT.splitlines()))

    assert plain == {"a": ["а"], "ǀ": ["Ι"], "o": ["О"], "m": ["𑣣"]}
    assert marked == {"o": ["ø"]}


def test_a_newer_file_changes_the_tables_and_their_version_alone() -> None:
    old = TABLE.read_text()
    new = written_anew(old, EXCERPT.splitlines())
    found: dict[str, object] = {}
    exec(new, found)

    assert found["VERSION"] == "99.1.0"
    assert found["ALIKE"] == {"а": "a", "Ι": "ǀ", "О": "o", "𑣣": "m"}
    assert found["MARKED"] == {"ø": "o"}
    assert written_anew(new, EXCERPT.splitlines()) == new
    assert new.partition("VERSION")[0] == old.partition("VERSION")[0]


def test_the_table_holds_letters_that_are_often_abused() -> None:
    assert int(VERSION.partition(".")[0]) >= 17
    assert "".join(ALIKE[each] for each in "аеорсухіјѕԁһԛԝοɑɡ") == "aeopcyxijsdhqwoag"
    assert "".join(MARKED[each] for each in "øđħŧ") == "odht"
    assert not {each for each in ALIKE if each.isascii()}
