# make            set up .venv        make demo    train, score and talk, in about eight minutes
# make test       the quick tests     make check   style, types, import order, length budgets
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := install

# Threads that wait must sleep: spinning ones steal the time of the few cores there are.
export OMP_WAIT_POLICY := PASSIVE

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
CODE := src tests tools $(wildcard benchmarks)

.PHONY: install demo test test-slow check format clean
install: $(STAMP)

# torch comes first and from plain pip, so that a CPU build is taken where pip's own settings offer one.
$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(None if (3, 11) <= v < (3, 14) else f"personae needs Python 3.11 to 3.13, $(PYTHON) is {v[0]}.{v[1]}; try: make PYTHON=python3.12")'
	@test -x $(BIN)/pip || { echo "creating $(VENV)"; $(PYTHON) -m venv $(VENV); }
	@echo "installing torch"
	@$(PIP) -c constraints.txt "$$(grep '^torch==' constraints.txt)"
	@echo "installing personae and its tools"
	@$(PIP) -c constraints.txt -e '.[dev]'
	@touch $@

demo: $(STAMP)
	@$(BIN)/personae demo

test: $(STAMP)
	@$(BIN)/python -m pytest -q

test-slow: $(STAMP)
	@$(BIN)/python -m pytest -q -m slow

check: $(STAMP)
	@$(BIN)/ruff check $(CODE)
	@$(BIN)/ruff format --check $(CODE)
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache --no-logo
	@$(BIN)/python -m tools.budgets

format: $(STAMP)
	@$(BIN)/ruff check --quiet --fix-only $(CODE)
	@$(BIN)/ruff format --quiet $(CODE)

clean:
	@rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache
