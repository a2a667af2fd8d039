"""The examples: their input is what their scripts make, and the demo proves what it says."""

import os
import re
import runpy
import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    ("script", "data"), [("orders/make_orders.py", "orders.csv"), ("invoices/make_invoices.py", "invoices.json")]
)
def test_the_input_is_what_the_script_makes(examples, tmp_path, script, data):
    made = tmp_path / data
    runpy.run_path(str(examples / script))["main"](made)
    assert made.read_bytes() == (examples / script).with_name(data).read_bytes()


def test_examples_are_short(examples):
    assert [str(path) for path in examples.rglob("*.py") if path.read_text().count("\n") >= 120] == []


def demo(examples, folder, *options):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("FLOWLI_")}
    return subprocess.run(
        [
            sys.executable,
            str(examples / "demo.py"),
            "--folder",
            str(folder),
            "--orders",
            "40",
            "--invoices",
            "12",
            "--patience",
            "2",
            *options,
        ],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        cwd=folder.parent,
        env=environment,
    )


def test_the_demo_proves_that_no_finished_step_ran_again_and_runs_again(examples, tmp_path):
    for _ in range(2):
        done = demo(examples, tmp_path / "demo")
        assert done.returncode == 0, done.stdout + done.stderr
        assert re.search(r"[1-9]\d* steps had finished when worker 1 was killed: none of them ran again", done.stdout)
        assert "40 orders" in done.stdout
        assert "12 invoices" in done.stdout
    eid = re.search(r"flowli show (\S+)", done.stdout)
    assert eid
    shown = subprocess.run(
        [sys.executable, "-m", "flowli.cli", "show", eid[1], "--storage", f"file:{tmp_path / 'demo' / 'store'}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "reserve_stock" in shown.stdout or "match_purchase_order" in shown.stdout


def test_the_demo_leaves_a_folder_alone_that_is_not_its_own(examples, tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "thesis.txt").write_text("precious")
    done = demo(examples, folder)
    assert done.returncode == 1
    assert "not of this demo" in done.stderr
    assert (folder / "thesis.txt").read_text() == "precious"
