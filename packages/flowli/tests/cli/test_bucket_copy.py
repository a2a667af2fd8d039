"""``flowli bucket copy`` at the shell: what it says, shows and refuses."""

import sys

import pytest

from flowli.cli.bucket.command import _bars


def test_people_read_what_was_done_and_what_comes_next(flowli, bucket, tmp_path):
    flowli("start", "echo", "--arg", "text=a")
    flowli.work()
    flowli("bucket", "copy", f"file:{bucket}", f"file:{tmp_path}/other")
    text = flowli("bucket", "copy", f"file:{bucket}", f"file:{tmp_path}/other")
    assert "copied    0 objects, 0 bytes; passes: 1" in text
    assert "give --cut-over to finish" in text
    assert "still being copied" in (flowli("list", "--storage", f"file:{tmp_path}/other", code=3) or flowli.errors)


def test_the_help_of_the_part_says_what_it_does(invoke):
    done = invoke("bucket", "copy", "--help")
    assert "--cut-over" in done.output
    assert [line for line in done.output.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize(
    ("source", "target", "code", "sentence"),
    [
        ("file:{0}/none", "memory:", 3, "none"),
        ("nonsense", "memory:", 2, "is not a storage URL"),
        ("file:{0}/bucket", "file:{0}/bucket", 1, "holds an installation already. Name an empty place."),
        ("memory:", "file:{0}/new", 1, "holds no installation of flowli. Check the first URL."),
    ],
)
def test_what_cannot_be_copied_is_one_sentence(flowli, bucket, tmp_path, source, target, code, sentence):
    flowli("start", "echo", "--arg", "text=a")
    flowli("bucket", "copy", source.format(tmp_path), target.format(tmp_path), code=code)
    (line,) = flowli.errors.splitlines()
    assert sentence in line


def test_progress_is_shown_to_who_looks(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "100")
    with _bars(shown=True) as tell:
        tell("copy", 0, 400)
        tell("copy", 200, 400)
        tell("verify", 0, 2)
        tell("verify", 2, 2)
    shown = capsys.readouterr().err
    assert "200/400" in shown
    assert "verify" in shown
    with _bars(shown=False) as tell:
        tell("copy", 0, 400)
    assert capsys.readouterr().err == ""
