import pytest

from flowli_runner.contracts import (
    Check,
    CheckResult,
    Claim,
    ContractError,
    Envelope,
    Outcome,
    Report,
    from_data,
    json_schema,
    to_data,
)

ENVELOPE = {
    "intent": "add a test",
    "write_scopes": ["tests/**"],
    "checks": [{"name": "tests", "argv": ["pytest", "-q"], "timeout_s": 60}],
    "knowledge": [{"title": "style", "link": "docs/style.md"}],
    "agent": {"name": "claude", "timeout_s": 30},
}


def test_an_envelope_comes_back_as_it_was():
    read = from_data(Envelope, ENVELOPE, "envelope")
    assert read.checks == (Check("tests", ("pytest", "-q"), 60.0),)
    assert from_data(Envelope, to_data(read), "envelope") == read


def test_a_report_comes_back_as_it_was():
    report = Report(Outcome.PARTIAL, claims=(Claim("done", ("e/log",)),), checks=(CheckResult("t", ("t",), False, 1),))
    assert from_data(Report, to_data(report), "report") == report


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"intent": 3}, "envelope.intent"),
        ({"intent": " "}, "envelope.intent"),
        ({"intend": "x"}, "envelope.intend"),
        ({"version": 2}, "envelope.version"),
        ({"version": True}, "envelope.version"),
        ({"checks": [{"name": "a", "argv": []}]}, "envelope.checks[0].argv"),
        ({"checks": [{"name": "a", "argv": ["x", 3]}]}, "envelope.checks[0].argv[1]"),
        ({"checks": [{"argv": ["x"]}]}, "envelope.checks[0].name"),
        ({"agent": {"timeout_s": "soon"}}, "envelope.agent.timeout_s"),
        ({"agent": {"model": "--help"}}, "envelope.agent.model"),
        ({"agent": {"options": {"a": 1}}}, "envelope.agent.options.a"),
        ({"write_scopes": ["src/**", "../etc"]}, "envelope.write_scopes[1]"),
        ({"write_scopes": ["/etc"]}, "envelope.write_scopes[0]"),
        ({"write_scopes": ["-f"]}, "envelope.write_scopes[0]"),
        ({"write_scopes": ["a\nb"]}, "envelope.write_scopes[0]"),
        ({"write_scopes": "src"}, "envelope.write_scopes"),
    ],
)
def test_what_does_not_keep_to_the_contract_is_refused_by_the_name_of_its_field(change, path):
    with pytest.raises(ContractError) as refused:
        from_data(Envelope, {**ENVELOPE, **change}, "envelope")
    assert refused.value.path == path
    assert str(refused.value).startswith(f"{path}: ")


def test_a_missing_field_is_named():
    with pytest.raises(ContractError, match=r"^envelope\.intent: the field is missing$"):
        from_data(Envelope, {}, "envelope")


def test_work_with_a_failed_check_cannot_be_told_as_completed():
    with pytest.raises(ContractError, match="outcome"):
        Report(Outcome.COMPLETED, checks=(CheckResult("t", ("t",), False, 1),))
    with pytest.raises(ContractError, match="outcome"):
        Report(Outcome.COMPLETED, outside=("etc",))


def test_the_schema_says_what_the_reader_does():
    schema = json_schema(Envelope)
    assert schema["required"] == ["intent"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["checks"] == {"type": "array", "items": {"$ref": "#/$defs/Check"}}
    assert schema["$defs"]["Check"]["required"] == ["name", "argv"]
    assert json_schema(Report)["properties"]["outcome"] == {"enum": [one.value for one in Outcome]}
    assert json_schema(Report)["$defs"]["Cost"]["properties"]["usd"] == {
        "anyOf": [{"type": "number"}, {"type": "null"}]
    }
