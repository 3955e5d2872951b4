# Every target creates .venv when it is missing or older than pyproject.toml; that needs Python 3.11 or newer and network.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin

.PHONY: demo test test-matrix fuzz check bench docs clean

demo: .venv/.ready
	rm -rf demo-output
	mkdir demo-output
	$(BIN)/parcubin compile corpus/cub.ll.xz --arch sm_80 -o demo-output/cub.cubin
	$(BIN)/parcubin inspect demo-output/cub.cubin

test: .venv/.ready
	$(BIN)/python -m pytest --numprocesses auto --maxprocesses 8 --dist loadfile

# Several CUDA toolkits side by side; MATRIX="12.9 13.5" runs those alone. tests/matrix.py lists them.
test-matrix: .venv/.ready
	$(BIN)/python tests/matrix.py $(MATRIX)

# FUZZ="--seconds 600 --jobs 16" passes options on; FUZZ=--help lists them. Inputs that show a fault go to fuzz-findings/.
fuzz: .venv/.ready
	$(BIN)/python -m tests.fuzz.run $(FUZZ)

check: .venv/.ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

# BENCH="--quick --cases xla" passes options on; BENCH=--help lists them.
bench: .venv/.ready
	$(BIN)/python -m benchmarks.bench $(BENCH)

docs: .venv/.ready
	$(BIN)/python -m pytest tests/test_docs.py

clean:
	rm -rf .venv .matrix fuzz-findings .mypy_cache .pytest_cache .ruff_cache bench-results build demo-output dist
	find src tests benchmarks -name __pycache__ -prune -exec rm -rf {} +

# The pip that comes with Python 3.11 knows no dependency groups, so it is upgraded first. It compiles what it installs,
# but not what stays where it is; and with PYTHONDONTWRITEBYTECODE, every worker would compile the sources anew.
.venv/.ready: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[cuda13]' --group dev
	$(BIN)/python -m compileall -q src
	touch $@
