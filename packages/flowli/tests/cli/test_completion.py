"""Completion in shells."""

from __future__ import annotations

import pytest


def complete(invoke, words: str, current: str) -> list[str]:
    """What fish is offered, as ``type,value<tab>help`` lines."""
    done = invoke(env={"_FLOWLI_COMPLETE": "fish_complete", "COMP_WORDS": words, "COMP_CWORD": current})
    return [line for line in done.stdout.splitlines() if line]


def values(offered: list[str]) -> list[str]:
    return [line.split(",", 1)[1].split("\t")[0] for line in offered]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_each_shell_is_printed(invoke, shell):
    done = invoke("completion", shell)
    assert done.exit_code == 0, done.output
    assert "_FLOWLI_COMPLETE" in done.stdout


def test_a_shell_that_is_not_known_is_refused(invoke):
    assert invoke("completion", "tcsh").exit_code == 2


def test_commands_are_offered_with_their_summaries(invoke):
    offered = complete(invoke, "flowli ex", "ex")
    assert set(values(offered)) == {"explain", "export"}
    assert any("Say why an execution stands still" in line for line in offered)


def test_options_are_offered(invoke):
    assert "--waiting-on" in values(complete(invoke, "flowli list --w", "--w"))


def test_ids_are_offered(flowli, invoke):
    eid = flowli("start", "echo", "--arg", "text=hello").strip()
    offered = complete(invoke, f"flowli explain {eid[:4]}", eid[:4])
    assert values(offered) == [eid]
    assert "echo pending" in offered[0]


def test_no_bucket_offers_no_id(invoke):
    assert complete(invoke, "flowli explain 0", "0") == []
