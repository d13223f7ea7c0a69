# make run, make test: everything else is for those who change the daemon.
# Each stamp below stands for "the virtual environment holds what this needs"; it is made anew
# only when setup.cfg or pyproject.toml changed, so the second time is quick.

PYTHON ?= python3
VENV   ?= .venv
ARGS   ?=
BIN    := $(VENV)/bin

.PHONY: help run test lint cover bench storm restarts fuzz clean install uninstall pyz man

help:
	@echo 'make run    start the daemon           (make run ARGS="--port 4100")'
	@echo 'make test   run all tests              (make test ARGS="-k duel")'
	@echo 'make lint   ruff, flake8-async, mypy --strict'
	@echo 'make cover  the tests, with coverage'
	@echo 'make bench  how fast it is, beside two relays (a quarter of an hour)'
	@echo 'make storm  honest players among hundreds of hostile clients (three minutes)'
	@echo 'make restarts  players through restarts, kills and hangs (four minutes)'
	@echo 'make fuzz   thousands of random visits (minutes; FUZZ_EXAMPLES=... for more)'
	@echo 'make pyz    the daemon in one file, dist/duel-daemon.pyz, for any python3'
	@echo 'make man    the manual page, systemd/duel-daemon.8, from its .rst'
	@echo 'sudo make install    a systemd service; again, after git pull, an upgrade'
	@echo 'sudo make uninstall  remove it again; settings and results stay'
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

# Compiled first: what is not, Python compiles at every start, and that would count as ours.
bench: $(VENV)/.run
	@$(BIN)/python -m compileall -q duel_daemon
	@$(BIN)/python bench/run.py $(ARGS)

storm: $(VENV)/.test
	@$(BIN)/python -bb -W error tests/storm.py --full

# Sizes: players, restarts, kills and hangs with systemd; kills without it.
restarts: export DUEL_TEST_STORM ?= 200 20 30 1
restarts: export DUEL_TEST_KILLS ?= 100
restarts: $(VENV)/.test
	@$(BIN)/python -bb -m pytest tests/test_restart_storm.py tests/test_kill.py $(ARGS)

fuzz: export FUZZ_EXAMPLES ?= 5000
fuzz: $(VENV)/.test
	@PYTHONPATH=tests $(BIN)/python -bb -W error tests/test_fuzz.py

clean:
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage

# Say what is missing before pip or venv say it in twenty lines.
define need-python
@command -v $(PYTHON) >/dev/null || { echo "make: $(PYTHON) is missing (on Debian: apt install python3 python3-venv)" >&2; exit 1; }
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "make: Python 3.11 or newer is needed, $(PYTHON) is $$($(PYTHON) -V); try make PYTHON=python3.12 ..." >&2; exit 1; }
@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "make: Python's venv module is missing (on Debian: apt install python3-venv)" >&2; exit 1; }
endef

$(BIN)/python:
	$(need-python)
	@echo "Making a virtual environment in $(VENV) (once) ..."
	@$(PYTHON) -m venv $(VENV)

INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable

$(VENV)/.run: $(BIN)/python setup.cfg pyproject.toml
	@$(INSTALL) . && touch $@

$(VENV)/.test: $(BIN)/python setup.cfg pyproject.toml
	@$(INSTALL) '.[test]' && touch $@ $(VENV)/.run

$(VENV)/.dev: $(BIN)/python setup.cfg pyproject.toml
	@$(INSTALL) '.[dev]' && touch $@ $(VENV)/.test $(VENV)/.run

# For operators and packagers. Where things go is said here, what goes there in systemd/install;
# /opt/duel-daemon is not to be chosen, because the units name it. DESTDIR is put in front of
# everything and makes root and systemd unnecessary. None of the virtual environments made here
# is $(VENV): that one is the checkout's, and changes with it.

DESTDIR  ?=
PREFIX   ?= /usr/local
UNITDIR  ?= /etc/systemd/system
AVAHIDIR ?= /etc/avahi/services
DIST     ?= dist
PLACES    = DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' UNITDIR='$(UNITDIR)' AVAHIDIR='$(AVAHIDIR)'

install:
	@$(PLACES) systemd/install check
	$(need-python)
	@$(PLACES) PYTHON='$(PYTHON)' systemd/install install

uninstall:
	@$(PLACES) systemd/install uninstall

pyz:
	$(need-python)
	@PYTHON='$(PYTHON)' systemd/pyz '$(DIST)/duel-daemon.pyz'

# To be committed with its source, for those who install without docutils. By way of another
# file: a page half written must not pass for a page.
man: $(VENV)/.test
	@$(BIN)/python systemd/manual.py >$(VENV)/duel-daemon.8
	@mv $(VENV)/duel-daemon.8 systemd/duel-daemon.8
