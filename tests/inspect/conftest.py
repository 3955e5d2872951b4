from __future__ import annotations

from pathlib import Path

import pytest

from tests.inspect.cuda_tools import Tools


@pytest.fixture
def tools(tmp_path: Path) -> Tools:
    """NVIDIA's tools, working in a folder of their own."""
    return Tools(tmp_path)
