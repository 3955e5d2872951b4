"""Measurements. `python -m benchmarks.bench` is the one that `make bench` runs."""
