"""What is known of the driver without loading it."""

from __future__ import annotations

import pytest

from parcubin.errors import ToolchainError, UsageError
from parcubin.toolchain import driver
from parcubin.toolchain.driver import DriverVersion, can_load, installed_driver, parse_release, usable_driver


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """What the driver says when it is asked; tests fill it."""
    said: dict[str, int] = {}
    monkeypatch.setattr(driver, "_ask", lambda *, with_gpu: said | ({} if with_gpu else {"gpus": 0}))
    monkeypatch.setattr(driver, "_build", lambda: "550.54.15")
    return said


def test_version(answer: dict[str, int]) -> None:
    answer.update(version=12040, gpus=2)
    assert installed_driver() == usable_driver() == DriverVersion((12, 4), "550.54.15")
    assert str(usable_driver()) == "driver 12.4 (550.54.15)"


def test_a_driver_without_gpu_compiles_nothing(answer: dict[str, int]) -> None:
    answer.update(version=13000, gpus=0)
    assert installed_driver().cuda == (13, 0)
    with pytest.raises(ToolchainError, match="sees no GPU"):
        usable_driver()


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ('print(\'{"fault": "libcuda.so.1: no such file"}\')', r"no CUDA driver \(libcuda\.so\.1: no such file\)"),
        ("print('{\"status\": 803}')", "cannot be used: CUresult 803"),
        ("import os; os.abort()", "broke off"),
        ("import time; time.sleep(60)", "does not answer"),
    ],
)
def test_a_driver_that_does_not_work(monkeypatch: pytest.MonkeyPatch, question: str, reason: str) -> None:
    monkeypatch.setattr(driver, "_QUESTION", question)
    monkeypatch.setattr(driver, "_TIMEOUT_S", 2)
    driver._ask.cache_clear()
    with pytest.raises(ToolchainError, match=reason):
        installed_driver()
    driver._ask.cache_clear()


@pytest.mark.parametrize(
    ("cuda", "major", "loads"), [((12, 4), 12, True), ((12, 4), 13, False), ((13, 0), 12, True), ((13, 0), 13, True)]
)
def test_what_a_driver_loads(cuda: tuple[int, int], major: int, loads: bool) -> None:
    assert can_load(cuda, major) == loads


def test_releases() -> None:
    assert parse_release("12.4") == (12, 4)
    for text in ("12", "", "12.4.1", "a.b", "-1.0"):
        with pytest.raises(UsageError, match="is not a CUDA release"):
            parse_release(text)
