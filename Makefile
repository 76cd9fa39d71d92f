# make demo    the bundled sample, the whole job, explained on screen
# make test    set up and run the whole suite (CI=true: a missing component is a failure, not a skipped test)
# make lint    ruff and mypy --strict
# make bench   Twinset and its peers side by side
# make soak    the long runs, two to three hours: each part fails the whole, and can be run alone
#     make soak-tests       tests too long for every day: kills, damage and stopped runs, many times over
#     make soak-coverage    the whole suite again, and the lines of src that no test reaches
#     make soak-bounds     kernels with a check of every index; soak-nojit: kernels without the compiler
#     make soak-mutations   small deliberate defects, one at a time: at least 95 % must be caught
#     make soak-fuzz        an hour of changed and random files for every reader; FUZZ_SECONDS=… FUZZ_SEED=…
# make docs    generate docs/commands.md
# make dist    build the source distribution and the wheel, twice, and check them
# make site    build the documentation site into site/; it opens from there, offline
# make lock    upgrade every package in requirements.lock; PACKAGE="name …" upgrades or adds these alone
#
# Of the tests:
#   TWINSET_TEST_SEED=n      the seed of all that is random, such as the moments at which processes are killed;
#                            without it one is drawn. The first lines of a run name it.
#   TWINSET_TEST_ORDER=n     the files in another order, which follows from n; "random" draws one. Named there too.
#   TWINSET_TEST_POSTGRES=…  the URL of a PostgreSQL server, where there is none to be started
# A run removes its temporary folder at the end (pytest's --basetemp keeps the files of the tests), and then lists the
# optional components that it used and missed: Chromium, PostgreSQL, a small file system, a git checkout.
#
# Everything happens in .venv, which is made on first use and renewed when pyproject.toml or requirements.lock change.
# PYTHON=python3.12 chooses another interpreter (3.11 or newer); BENCH="…" passes words to the benchmarks.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
BENCH ?=
PACKAGE ?=
FUZZ_SECONDS ?= 3600
FUZZ_SEED ?= $(shell date +%s)

.PHONY: demo test lint bench dist soak soak-tests soak-bounds soak-nojit soak-coverage soak-mutations soak-fuzz docs site setup lock clean

setup: $(STAMP)

$(STAMP): pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; v = sys.version_info; v >= (3, 11) or sys.exit("Twinset needs Python 3.11 or newer, this is %d.%d; name another with make PYTHON=…" % v[:2])'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	@touch $@

demo: $(STAMP)
	$(BIN)/twinset demo

# Three processes, each file of tests in one of them: on two cores, a part of the time is waiting for disks and processes.
test: $(STAMP)
	$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/mypy --strict src website

bench: $(STAMP)
	$(BIN)/python -m benchmarks $(BENCH)

# What is quickly wrong comes first: a list of defects that no longer fits the source costs a second, not an hour.
soak: $(STAMP)
	$(BIN)/python -m tests.soak.mutations --check
	$(MAKE) soak-tests
	$(MAKE) soak-bounds
	$(MAKE) soak-nojit
	$(MAKE) soak-coverage
	$(MAKE) soak-mutations
	$(MAKE) soak-fuzz

soak-tests: $(STAMP)
	$(BIN)/python -m pytest -m soak

soak-coverage: $(STAMP)
	rm -rf .coverage
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder -q --cov --cov-report=term

soak-mutations: $(STAMP)
	$(BIN)/python -m tests.soak.mutations

soak-fuzz: $(STAMP)
	@echo "TWINSET_FUZZ_SEED=$(FUZZ_SEED)"
	TWINSET_FUZZ_SECONDS=$(FUZZ_SECONDS) TWINSET_FUZZ_SEED=$(FUZZ_SEED) $(BIN)/python -m pytest tests/fuzz -rP

# The tests of kernels, compiled with a check of every index. The cache tells such kernels from others by itself.
# Intrinsics (load64, store64, ascii_words, put_places, near_one, near_two) go past these checks; guard bytes around
# what kernels write to, in every run of these tests, see to them.
KERNEL_TESTS := tests/shingles tests/sketches tests/candidates tests/pairs tests/clusters \
	tests/documents/test_normalize.py tests/documents/formats tests/documents/items tests/documents/long_tables

soak-bounds: $(STAMP)
	NUMBA_BOUNDSCHECK=1 $(BIN)/python -m pytest -q $(KERNEL_TESTS)

# The tests of kernels that Python can run itself, with few examples each. Left out are those of kernels that use
# intrinsics, which only the compiler knows (shingles, banding,
# prefix, probing, hamming, collapse, weighted sketches), and those that take minutes (MinHash, SimHash, images).
NOJIT_TESTS := tests/candidates/test_inverted.py tests/clusters/test_group.py tests/pairs/test_vectors.py \
	tests/pairs/test_weighted.py

soak-nojit: $(STAMP)
	HYPOTHESIS_PROFILE=brief NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q $(NOJIT_TESTS)

docs: $(STAMP)
	@mkdir -p docs
	$(BIN)/python -m twinset.cli.reference > docs/commands.md.new && mv docs/commands.md.new docs/commands.md

# The same commit gives the same bytes. Twine is no dependency of anything else, so it has an environment of its own.
dist: $(STAMP)
	rm -rf dist .venv-dist
	SOURCE_DATE_EPOCH=$(shell git log -1 --format=%ct) $(BIN)/python -m tests.install.build dist
	$(PYTHON) -m venv .venv-dist
	.venv-dist/bin/python -m pip install --quiet --disable-pip-version-check twine
	.venv-dist/bin/python -m twine check --strict dist/*
	rm -rf .venv-dist

site: $(STAMP)
	$(BIN)/python -m website

# The lock is what a clean environment gets from the dev extra, versions only. With PACKAGE every other pin stays: the
# packages named (and what they need that is not pinned yet) get their newest versions.
PINNED = ^($(subst $(space),|,$(foreach name,$(PACKAGE),$(shell printf %s '$(name)' | sed -E 's/[-_.]+/[-_.]+/g'))))==
space := $(subst ,, )
lock:
	rm -rf .venv-lock
	$(PYTHON) -m venv .venv-lock
	$(if $(PACKAGE),grep -viE '$(PINNED)' requirements.lock,printf '') > .venv-lock/pins
	.venv-lock/bin/python -m pip install --quiet --disable-pip-version-check -c .venv-lock/pins -e '.[dev]'
	.venv-lock/bin/python -m pip freeze --exclude-editable | LC_ALL=C sort -f > .venv-lock/lock
	$(if $(PACKAGE),grep -qiE '$(PINNED)' .venv-lock/lock || { echo 'nothing needs $(PACKAGE): name it in pyproject.toml first'; exit 1; })
	mv .venv-lock/lock requirements.lock
	rm -rf .venv-lock

clean:
	rm -rf $(VENV) .venv-lock .venv-dist build dist site src/*.egg-info .pytest_cache .mypy_cache .ruff_cache
