"""Every code block of the README, the tutorial and the guides runs."""

import subprocess
import sys
import tomllib


def test_readme(runner, root, page_blocks, capsys):
    for block in page_blocks(root / "README.md"):
        if block.language == "python":
            exec(compile(block.text, "README.md", "exec"), runner.module.__dict__)
    assert "receipt for order-17: 42.00" in capsys.readouterr().out


def test_commands_that_the_readme_names_exist(root, page_blocks):
    scripts = tomllib.loads((root / "hatch.toml").read_text())["envs"]["default"]["scripts"]
    text = "\n".join(block.text for block in page_blocks(root / "README.md") if block.language == "console")
    assert "hatch run demo" in text
    assert "hatch run test" in text
    assert {"demo", "test"} <= scripts.keys()
    assert "docs/examples/demo.py" in scripts["demo"]
    for line in text.splitlines():
        for word in line.split():
            if word.startswith("./packages/") and not word.endswith("*"):
                assert (root / word / "pyproject.toml").is_file(), line


def test_extras_that_the_readme_names_exist(root):
    import re

    project = tomllib.loads((root / "packages/flowli/pyproject.toml").read_text())["project"]
    named = re.findall(r"flowli\[(\w+)\]", (root / "README.md").read_text())
    assert named
    assert set(named) <= project["optional-dependencies"].keys()


def test_the_example_of_the_readme_has_about_twenty_lines(root, page_blocks):
    block = next(block for block in page_blocks(root / "README.md") if block.language == "python")
    assert sum(bool(line.strip()) for line in block.text.splitlines()) <= 20


def test_tutorial(runner, docs):
    runner.run(docs / "tutorial" / "first-workflow.md")


def test_embedding(runner, docs, capsys):
    """WRK-7."""
    runner.run(docs / "how-to" / "embed.md")
    printed = capsys.readouterr().out
    assert "june.pdf" in printed
    assert "pending\n1 tasks\njuly.pdf" in printed


def test_observing(runner, docs, capsys):
    runner.run(docs / "how-to" / "observe.md")
    assert "greet completed" in capsys.readouterr().out


def test_subscriptions(runner, docs, capsys):
    runner.run(docs / "how-to" / "subscriptions.md")
    assert "pay failed" in capsys.readouterr().out


def test_metrics(runner, docs):
    runner.run(docs / "how-to" / "metrics.md")


def test_traces(runner, docs, capsys):
    runner.run(docs / "how-to" / "traces.md")
    assert "paid order-7" in capsys.readouterr().out


def test_sql(runner, docs, capsys, monkeypatch):
    monkeypatch.chdir(runner.folder)
    runner.run(docs / "how-to" / "sql.md")
    assert "2 carried out\n7 is paid\n" in capsys.readouterr().out


def test_finding_out_why_it_is_stuck(runner, docs):
    runner.run(docs / "how-to" / "find-out-why-it-is-stuck.md")


def test_serving_http(runner, docs, capsys):
    runner.run(docs / "how-to" / "serve-http.md")
    assert "greet pending by ada\nforbidden\n" in capsys.readouterr().out


def test_long_steps(runner, docs, capsys):
    runner.run(docs / "how-to" / "run-long-steps.md")
    printed = capsys.readouterr().out
    assert "model of 5 rows" in printed
    assert "root/train#1 1 out of memory at row 2" in printed


def test_testing_workflows(runner, docs):
    runner.run(docs / "how-to" / "test-your-workflows.md")


def test_trying_every_fault(runner, docs):
    from flowli.testing.sim import BUDGETS, Campaign

    runner.run(docs / "how-to" / "try-every-fault.md")
    campaign = Campaign(runner.module.WORKLOADS)
    assert not [found for found in campaign.run(campaign.cases("sweep", BUDGETS["small"])) if found is not None]
    assert campaign.runs >= 14


def test_encrypting_values(runner, docs, capsys):
    runner.run(docs / "how-to" / "encrypt-and-offload.md")
    printed = capsys.readouterr().out
    assert "800010" in printed
    assert "[b'aes-gcm:2026-01', b'aes-gcm:2026-06']" in printed
    assert "key '2026-06', which this process does not have (it has '2026-07')" in printed
    assert "(('reversed',), b'eulav')" in printed


def test_plugin_guide(runner, install, docs):
    from flowli import plugins

    path = docs / "how-to" / "write-a-command-plugin.md"
    install(path)
    plugins.manager.cache_clear()
    try:
        runner.run(path)
    finally:
        plugins.manager.cache_clear()


def test_the_command_of_the_guide_counts(runner, install, docs, tmp_path, environment):
    path = docs / "how-to" / "write-a-command-plugin.md"
    install(path)
    runner.run(path)
    (tmp_path / "greet.py").write_text(
        "from flowli import Registry\nregistry = Registry()\n\n"
        "@registry.workflow\nasync def greet(ctx, name: str) -> str:\n    return name\n"
    )
    options = ["--app", "greet:registry", "--storage", "file:./bucket"]
    flowli = [sys.executable, "-m", "flowli.cli"]
    for arguments in (
        ["start", "greet", "--arg", "name=Ada", *options],
        ["worker", "--until-idle", *options],
        ["start", "greet", "--arg", "name=Bob", *options],
    ):
        done = subprocess.run([*flowli, *arguments], check=False, capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
    tally = subprocess.run(
        [*flowli, "tally", "--storage", "file:./bucket"],
        check=True,
        capture_output=True,
        text=True,
        env=environment,
    )
    assert tally.stdout.split() == ["1", "completed", "1", "pending"]
