"""Values typed into a shell."""

from datetime import timedelta

import click
import pytest

from flowli.cli.values import DURATION, json_value, key_values


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90),
        ("0.5", 0.5),
        ("30s", 30),
        ("15m", 900),
        ("12h", 43_200),
        ("7d", 604_800),
        ("2w", 1_209_600),
        ("1h30m", 5400),
    ],
)
def test_a_duration_is_read(text, seconds):
    assert DURATION.convert(text, None, None) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "x", "-1", "3y", "1 h", "h", "1h 30m", "30 s", "5 5", "1.5.2", "9" * 400])
def test_what_is_no_duration_is_refused(text):
    with pytest.raises(click.BadParameter):
        DURATION.convert(text, None, None)


def test_a_value_is_json_if_it_is_json_and_text_otherwise():
    assert key_values(["n=2", "ok=true", "zip=01234", "name=ann", "list=[1, 2]", "empty=", "eq=a=b", 'quoted="2"']) == {
        "n": 2,
        "ok": True,
        "zip": "01234",
        "name": "ann",
        "list": [1, 2],
        "empty": "",
        "eq": "a=b",
        "quoted": "2",
    }


def test_a_parameter_that_takes_text_gets_text():
    assert key_values(["code=17", "n=17"], texts={"code"}) == {"code": "17", "n": 17}


@pytest.mark.parametrize(
    ("pairs", "sentence"),
    [(["order"], "'order' is not of the form"), (["=1"], "not of the form"), (["a=1", "a=2"], "'a' is given twice")],
)
def test_pairs_that_are_none_are_refused(pairs, sentence):
    with pytest.raises(click.BadParameter, match=sentence):
        key_values(pairs)


def test_json_comes_from_the_option_or_from_a_file(tmp_path):
    file = tmp_path / "a.json"
    file.write_text('{"a": [1]}')
    assert json_value("--json", '{"a": [1]}') == json_value("--json", f"@{file}") == {"a": [1]}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{order: 1}", "--json is not JSON: .* line 1 column 2; put it in single quotes"),
        ("@/no/such/file", "/no/such/file cannot be read: No such file"),
        ("", "--json is not JSON"),
        ("[" * 100_000, "--json is not JSON: too deep"),
    ],
)
def test_json_that_is_none_says_where(text, sentence):
    with pytest.raises(click.BadParameter, match=sentence):
        json_value("--json", text)
