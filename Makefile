# make run, make test: everything else is for those who change the daemon.
# Each stamp below stands for "the virtual environment holds what this needs"; it is made anew
# only when setup.cfg or pyproject.toml changed, so the second time is quick.

PYTHON ?= python3
VENV   ?= .venv
ARGS   ?=
BIN    := $(VENV)/bin

.PHONY: help run test lint cover clean

help:
	@echo 'make run    start the daemon           (make run ARGS="--port 4100")'
	@echo 'make test   run all tests              (make test ARGS="-k duel")'
	@echo 'make lint   ruff, flake8-async, mypy --strict'
	@echo 'make cover  the tests, with coverage'
	@echo 'make clean  remove the virtual environment and what tools left behind'

run: $(VENV)/.run
	@$(BIN)/duel-daemon $(ARGS)

test: $(VENV)/.test
	@$(BIN)/python -bb -m pytest $(ARGS)

lint: $(VENV)/.dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/flake8 duel_daemon tests bench
	@$(BIN)/mypy

cover: $(VENV)/.dev
	@$(BIN)/python -bb -m coverage run -m pytest $(ARGS)
	@$(BIN)/python -m coverage report

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage

# Say what is missing before pip or venv say it in twenty lines.
$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || { echo "make: $(PYTHON) is missing (on Debian: apt install python3 python3-venv)" >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "make: Python 3.11 or newer is needed, $(PYTHON) is $$($(PYTHON) -V); try make PYTHON=python3.12 ..." >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "make: Python's venv module is missing (on Debian: apt install python3-venv)" >&2; exit 1; }
	@echo "Making a virtual environment in $(VENV) (once) ..."
	@$(PYTHON) -m venv $(VENV)

INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable

$(VENV)/.run: $(BIN)/python setup.cfg pyproject.toml
	@$(INSTALL) . && touch $@

$(VENV)/.test: $(BIN)/python setup.cfg pyproject.toml
	@$(INSTALL) '.[test]' && touch $@ $(VENV)/.run

$(VENV)/.dev: $(BIN)/python setup.cfg pyproject.toml
	@$(INSTALL) '.[dev]' && touch $@ $(VENV)/.test $(VENV)/.run
