"""Standard output: plain when piped, styled and cut on a terminal, without styles under NO_COLOR."""

import json

import pytest

from flowli.cli.render.screen import Screen

ROWS = [["a", ("failed", "red"), "x" * 200], ["bbb", ("ok", "green"), "short"]]


def shown(monkeypatch, capsys, **environment: str) -> str:
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"COLUMNS": "60", "TERM": "xterm-256color", **environment}.items():
        monkeypatch.setenv(name, value)
    screen = Screen()
    screen.table(("ID", "STATE", "TEXT"), ROWS)
    screen.fields([("one", "1"), ("three", ("3", "red"))])
    return capsys.readouterr().out


def test_piped_text_is_plain_aligned_and_whole(monkeypatch, capsys):
    assert shown(monkeypatch, capsys).splitlines() == [
        "ID   STATE   TEXT",
        f"a    failed  {'x' * 200}",
        "bbb  ok      short",
        "one    1",
        "three  3",
    ]


def test_a_terminal_gets_colours_and_lines_that_fit(monkeypatch, capsys):
    text = shown(monkeypatch, capsys, FORCE_COLOR="1")
    assert "\x1b[31mfailed" in text
    assert max(len(line) for line in text.splitlines() if "x" * 20 in line) <= 60 + 20


def test_no_color_takes_every_escape_away(monkeypatch, capsys):
    assert "\x1b" not in shown(monkeypatch, capsys, FORCE_COLOR="1", NO_COLOR="1")


@pytest.mark.parametrize("value", [{"a": "é"}, [], None, "x"])
def test_json_is_one_document_on_one_line_when_piped(capsys, value):
    Screen(json_wanted=True).json(value)
    text = capsys.readouterr().out
    assert text.count("\n") == 1
    assert json.loads(text) == value


def test_notes_go_to_standard_error_and_not_to_scripts(capsys):
    Screen().note("hello")
    Screen(json_wanted=True).note("hello")
    assert capsys.readouterr() == ("", "hello\n")
