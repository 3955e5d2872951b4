"""What the documents promise about faults is complete and current."""

from __future__ import annotations

import inspect
import json
import logging
import subprocess
import sys
from pathlib import Path

import pytest

import parcubin
from parcubin import errors
from tests.command_line import parcubin as command_line
from tests.faults import DOCUMENT, ROOT
from tests.pipeline.samples import kernel, module


def test_every_error_is_documented() -> None:
    text = (ROOT / "docs" / "errors.md").read_text()
    classes = {
        name: c for name, c in vars(errors).items() if inspect.isclass(c) and issubclass(c, parcubin.ParcubinError)
    }
    for name, error in classes.items():
        rows = [row for row in text.splitlines() if row.startswith(f"| `{name}`")]
        assert len(rows) == 1, name
        cells = [cell.strip() for cell in rows[0].strip("|").split("|")]
        assert all(cells), name
        assert cells[-1] == str(error.exit_status), name


def test_table_of_faults_is_current() -> None:
    command = [sys.executable, "-c", "from tests.faults import table; print(table(), end='')"]
    made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert made.stdout == DOCUMENT.read_text(), "run make faults"


def test_log_is_silent_unless_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "k.ll").write_text(module(kernel("k")))
    compile_it = [
        sys.executable,
        "-m",
        "parcubin",
        "compile",
        str(tmp_path / "k.ll"),
        "--arch",
        "sm_80",
        "-q",
        "-j",
        "1",
    ]
    compile_it += ["-o", str(tmp_path / "out.cubin")]

    def said(*options: str) -> str:
        return subprocess.run([*compile_it, *options], capture_output=True, text=True).stderr

    assert said() == ""
    assert "planned 1 shards" in said("-v")
    assert "starts in worker" not in said("-v")
    assert "starts in worker" in said("-vv")
    monkeypatch.setenv("PARCUBIN_LOG", "debug")
    assert "starts in worker" in said()
    monkeypatch.setenv("PARCUBIN_LOG", "loud")
    assert "PARCUBIN_LOG" in said()


def test_no_terminal_obeys_the_log(tmp_path: Path) -> None:
    source = tmp_path / "a\x1b[31m.ll"
    source.write_text(module(kernel("k", "  bogus\n")))
    command = [sys.executable, "-m", "parcubin", "compile", str(source), "--arch", "sm_80", "-j", "1", "-vv"]
    run = subprocess.run([*command, "-o", str(tmp_path / "out.cubin")], capture_output=True, text=True)
    assert run.returncode == 1
    assert "\\x1b[31m.ll failed" in run.stderr
    assert "\x1b" not in run.stderr


def test_log_goes_to_handlers_of_the_host(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "parcubin"):
        parcubin.compile(module(kernel("k")), "sm_80", jobs=1)
    assert any(record.name == "parcubin.pipeline" for record in caplog.records)


def test_bugreport_has_no_credentials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARCUBIN_CACHE_REMOTE", "https://somebody:password@host/cache")
    result = command_line("bugreport", "-o", tmp_path / "report.json")
    assert result.exit_code == 0, result.stderr
    text = (tmp_path / "report.json").read_text()
    assert text.count("https://...@host/cache") == 2
    assert "password" not in text


def test_bugreport(tmp_path: Path) -> None:
    secret = module(kernel("secret_kernel", "  bogus\n"))
    (tmp_path / "k.ll").write_text(secret)
    result = command_line("bugreport", "-o", tmp_path / "report.json", "--input", tmp_path / "k.ll")
    assert result.exit_code == 0, result.stderr
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["parcubin"] == parcubin.__version__
    assert report["bundle"]["decisions"]
    assert report["input"]["bytes"] == len(secret)
    assert "text" not in report["input"]
    assert report["compile"]["error"]["type"] == "InputError"
    command_line("bugreport", "-o", tmp_path / "report.json", "--input", tmp_path / "k.ll", "--include-input")
    assert json.loads((tmp_path / "report.json").read_text())["input"]["text"] == secret
