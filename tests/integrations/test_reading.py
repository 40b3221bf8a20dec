"""Documents out of HTML and PDF."""

from __future__ import annotations

from pathlib import Path

import pytest

from rxagent.errors import DocumentError
from rxagent.integrations.html import html_text, read_html
from rxagent.integrations.pdf import read_pdf
from rxagent.retrieval import Document, read_folder, split_headings


@pytest.mark.parametrize(
    ("page", "text"),
    [
        (
            "<h1>Head <b>line</b></h1><p>One<br>two &amp; 3</p>",
            "# Head line\nOne\ntwo & 3",
        ),
        ("<ul><li>a<li>b <a href=x>c</a>!</ul>tail", "- a\n- b c!\ntail"),
        ("<head><title>T</title><style>x</style></head>a<script>b</script>c", "ac"),
        ("<p>a\n  b\t c</p>\n\n<div><div>d</div></div>", "a b c\nd"),
        ("<b>not <i>closed", "not closed"),
        ("just text", "just text"),
        ("", ""),
        (b"caf\xc3\xa9", "café"),
        (b"<meta charset=iso-8859-1>caf\xe9 \x93x\x94", "café \u201cx\u201d"),
        (b"<meta content='text/html; charset=Shift_JIS'>\x93\xfa", "日"),
        (b"<meta charset='utf-16'>caf\xc3\xa9", "café"),
        (b"<meta charset='no-such'>caf\xc3\xa9", "café"),
        (b"<meta charset='base64'>caf\xc3\xa9", "café"),
        ("\ufeffcafé".encode(), "café"),
        ("\ufeffcafé".encode("utf-16-le"), "café"),
        ("\ufeffcafé".encode("utf-16-be"), "café"),
        ("<div>" * 900 + "deep", "deep"),
        (
            "<p>a\n <pre>\n  # b\n\n\tc</pre>d",
            "a\n```\n  # b\n\n\tc\n```\nd",
        ),
        ("<pre>a\r\nb</pre><pre>c<br>d</pre>", "```\na\nb\n```\n```\nc\nd\n```"),
        (
            "<pre><div>a <b>b</b></div><div>c</div>d<h1>e</h1></pre>f",
            "```\na b\nc\nd\ne\n```\nf",
        ),
        ("<pre>```</pre>", "````\n```\n````"),
        ("x<pre> \n </pre>y", "x\ny"),
        ("<pre>a<pre>b</pre>c", "```\na\nb\nc\n```"),
        ("<p", ""),
        ("<p>a</p></div></b><", "a\n<"),
        ("<pre>not <b>closed\n", "```\nnot closed\n```"),
        ("a\0b&#0;c&#xd800;", "ab\ufffdc\ufffd"),
        ("<!-- no --><h3>x</h3>", "### x"),
    ],
)
def test_a_page_is_the_text_that_it_shows(page: str | bytes, text: str) -> None:
    assert html_text(page) == text


@pytest.mark.parametrize(
    "page",
    [
        "<div>" * 10_000,
        "<ul><li>" * 10_000 + "</li></ul>" * 10_000,
        "<div></p>" * 10_000,
        "<svg><g>" + "<g>" * 10_000,
        # Each paragraph would repeat the elements of all before it: gigabytes.
        "".join(f"<p><font color={number}>x</p>" for number in range(10_000)),
        "<!---->" * 9 + "<span>" * 10_000,
    ],
    ids=["div", "list", "unmatched", "drawing", "fonts", "comments"],
)
def test_a_page_that_would_take_too_long_is_refused(page: str, tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="over 1,000 elements"):
        html_text(page)
    (tmp_path / "a.html").write_text(page)
    with pytest.raises(DocumentError, match=r"a\.html' has over 1,000 elements"):
        read_html(tmp_path / "a.html")


@pytest.mark.parametrize(
    "page",
    [
        "<ul>" + "<li>x" * 3_000,
        "<p>x<br><img src=x><input>" * 3_000,
        "<table>" + "<tr><td>x<th>y" * 3_000,
        "<a name=x>x" * 3_000,
        "<svg>" + "<path d=x /><g></g>" * 3_000 + "</svg>x",
        "<script>" + "if(a<b&&c<d){}" * 3_000 + "</SCRIPT >x",
        "<!-- " + "<div>" * 3_000 + "-->x",
        "<textarea>" + "<div>" * 3_000,
        "<div><span>x</span></div>" * 3_000,
        "<x" * 30_000,
    ],
)
def test_a_page_that_is_long_and_not_deep_is_read(page: str) -> None:
    html_text(page)


def test_a_page_is_a_document_with_its_title(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text("<title> T </title><h1>A</h1>x<h2>B</h2>y")
    (tmp_path / "b.html").write_text("z<svg><title>icon</title></svg>")
    documents = list(read_folder(tmp_path, {".html": read_html}))
    assert documents == [
        Document(id="a.html", text="# A\nx\n## B\ny", metadata={"title": "T"}),
        Document(id="b.html", text="z"),
    ]
    chunks = split_headings()(documents[0])
    assert [each.metadata["headings"] for each in chunks] == [("A",), ("A", "B")]
    with pytest.raises(DocumentError, match="cannot be read"):
        read_html(tmp_path / "no.html")


def pdf(*pages: str) -> bytes:
    """A file with a text on each page, written by hand."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, text in enumerate(pages):
        shown = f"BT /F 12 Tf 72 700 Td ({text}) Tj ET"
        objects += [
            (
                "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] "
                "/Resources << /Font << /F 3 0 R >> >> "
                f"/Contents {5 + 2 * number} 0 R >>"
            ),
            f"<< /Length {len(shown)} >>\nstream\n{shown}\nendstream",
        ]
    body, places = "%PDF-1.4\n", list[int]()
    for number, each in enumerate(objects, start=1):
        places.append(len(body))
        body += f"{number} 0 obj\n{each}\nendobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    count = len(objects) + 1
    end = f"xref\n0 {count}\n0000000000 65535 f \n{table}"
    end += f"trailer\n<< /Size {count} /Root 1 0 R >>\nstartxref\n{len(body)}\n%%EOF"
    return (body + end).encode()


def test_each_page_of_a_pdf_file_is_a_document(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(pdf("First page", " ", "Third page"))
    documents = list(read_folder(tmp_path, {".pdf": read_pdf}))
    assert documents == [
        Document(
            id=f"a.pdf#page={page}",
            text=text,
            metadata={"source": "a.pdf", "page": page},
        )
        for page, text in ((1, "First page"), (3, "Third page"))
    ]


def test_what_is_no_pdf_file_says_so(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(b"no")
    with pytest.raises(DocumentError, match=r"a\.pdf' cannot be read"):
        list(read_pdf(tmp_path / "a.pdf"))
    with pytest.raises(DocumentError, match="cannot be read"):
        list(read_pdf(tmp_path / "no.pdf"))


@pytest.mark.parametrize(
    ("whole", "broken"),
    [
        (b"/F 12 Tf", b"<<>> 12 Tf"),
        (b"<< /Length", b"<< /Filter <<>> /Length"),
        (b"<< /Size", b"<< /Encrypt << /Filter /Other >> /Size"),
    ],
)
def test_a_damaged_or_encrypted_pdf_file_says_so(
    whole: bytes, broken: bytes, tmp_path: Path
) -> None:
    (tmp_path / "a.pdf").write_bytes(pdf("Only page").replace(whole, broken))
    with pytest.raises(DocumentError, match=r"a\.pdf' cannot be read"):
        list(read_pdf(tmp_path / "a.pdf"))
