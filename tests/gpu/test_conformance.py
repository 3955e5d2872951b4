"""The promises of every provider, kept by the driver and by deferring to it."""

from __future__ import annotations

from tests.gpu.gpu import require_gpu
from tests.providers.test_conformance import *  # noqa: F403

require_gpu()
