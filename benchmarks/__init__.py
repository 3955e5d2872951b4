"""Measurements. `python -m benchmarks.bench` is the one that `make bench` runs."""

import os

os.environ["PARCUBIN_CACHE"] = "off"  # what is measured is compiled; a measurement of the cache says so
