PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin

.PHONY: demo test check bench docs clean

.venv/.ready: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[cuda13]' --group dev
	touch $@
