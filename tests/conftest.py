"""What several test files share."""

from __future__ import annotations

import lzma
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def corpus() -> Path:
    """The folder of real inputs; its README says what they are."""
    return ROOT / "corpus"


@pytest.fixture(scope="session")
def corpus_text(corpus: Path) -> Callable[[str], str]:
    """Reads one compressed corpus file by its unpacked name: `cub.ll`."""
    return lambda name: lzma.decompress((corpus / f"{name}.xz").read_bytes()).decode()


@pytest.fixture(scope="session")
def xla_modules(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the unpacked XLA modules: `step.*.ll` and `step.*.ptx`."""
    folder = tmp_path_factory.mktemp("xla")
    with tarfile.open(corpus / "xla-transformer.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder / "xt"
