from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rxagent.tools.docstring import read_docstring


def test_the_description_is_what_stands_before_the_arguments() -> None:
    found = read_docstring(
        """Find a film.

        Use it for titles.  Note: slow.

        Args:
            title: Any part of it.

        Returns:
            The film.
        """
    )

    assert found.description == "Find a film.\n\nUse it for titles.  Note: slow."
    assert found.parameters == {"title": "Any part of it."}


@pytest.mark.parametrize("head", ["Args:", "Arguments:", "Parameters:"])
def test_entries_may_name_a_type_and_run_over_lines(head: str) -> None:
    found = read_docstring(
        f"""Do it.

        {head}
            first (int, optional): One
                and more: of it,

                and still more.
            second: Two.
            **third: Three.
        """
    )

    assert found.parameters == {
        "first": "One and more: of it, and still more.",
        "second": "Two.",
        "third": "Three.",
    }


@pytest.mark.parametrize("section", ["Returns", "Yields", "Raises"])
def test_other_sections_end_the_description_and_the_arguments(section: str) -> None:
    found = read_docstring(f"Do it.\n\nArgs:\n    a: A.\n{section}:\n    b: B.\n")

    assert (found.description, found.parameters) == ("Do it.", {"a": "A."})
    assert read_docstring(f"Do it.\n\n{section}:\n    b: B.").description == "Do it."


def test_no_docstring_says_nothing() -> None:
    assert read_docstring(None) == read_docstring("")
    assert read_docstring(None).description == ""


def test_a_section_without_entries_names_no_parameter() -> None:
    assert read_docstring("Do it.\n\nArgs:\n    nothing here\n").parameters == {}


@given(st.text(alphabet=st.sampled_from("Args:\n ()*ab")))
def test_any_text_can_be_read(text: str) -> None:
    found = read_docstring(text)

    assert all(name.isidentifier() for name in found.parameters)
    assert all("\n" not in said for said in found.parameters.values())
