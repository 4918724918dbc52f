# Every target makes the virtual environment it needs; a second run installs nothing.
#
#   make demo       train a classifier on handwritten digits    make docs     build the documentation
#   make test       run the tests                               make bench    run the benchmarks
#   make test-fast  run the tests that are not marked as slow   make peers    compare with other libraries
#   make lint       ruff and mypy                               make mutants  break the code; tests must notice
#   make fuzz       random programs, other ones each time       make clean    remove what these made
#   make test-engines  test functions inside nutpie, PyMC and JAX
#
# PYTHON=... picks the interpreter, VENV=... the environment, DEMO=..., PYTEST=..., FUZZ=..., MUTANTS=..., ASV=...,
# PEERS=... add options.

# The first of these that is Python 3.11 or later.
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV ?= .venv
BIN := $(VENV)/bin
SPHINX := $(BIN)/sphinx-build -W --keep-going -d docs/_build/doctrees
# Pages with examples; what the build generates has none of its own.
PAGES = $(filter-out docs/generated/% docs/gallery/% docs/executed/% docs/tutorials/%,$(wildcard docs/*.rst docs/*/*.rst))
PYTEST ?= -n auto --maxprocesses=8
# What records, and takes the arguments of functions, with and without machine code that works on Python objects.
BOTH_WAYS := $(addprefix tests/test_,recording.py tape.py function.py failed_flush.py rollback.py fast_run.py shared_values.py)
# The tests that draw programs; the others of their folder are the same in each run.
FUZZED := $(addprefix tests/fuzz/test_,njit_programs.py programs.py random_numpy.py schedules_fuzz.py segments_fuzz.py)
FUZZ ?= --programs 2000 --seed $(shell date +%s)
MUTANTS ?= --jobs 2
DEMO ?=
ASV ?=
PEERS ?=

.PHONY: demo test test-fast test-without-native test-engines engines fuzz mutants lint docs bench peers clean
.NOTPARALLEL:

demo: $(VENV)/.has-demo
	$(BIN)/python -m jittape demo $(DEMO)

test: $(VENV)/.has-test
	$(BIN)/python -m pytest $(PYTEST)

test-fast: $(VENV)/.has-test
	$(BIN)/python -m pytest $(PYTEST) -m "not slow"

test-without-native: $(VENV)/.has-test
	JITTAPE_NATIVE=0 $(BIN)/python -m pytest $(PYTEST) $(BOTH_WAYS)

# In an environment of their own: PyTensor asks for an older Numba.
test-engines:
	$(MAKE) VENV=$(VENV)-engines engines

engines: $(VENV)/.has-engines
	$(BIN)/python -m pytest $(PYTEST) tests/engines tests/test_c_function.py

fuzz: $(VENV)/.has-test
	$(BIN)/python -m pytest -n auto --maxprocesses=8 $(FUZZED) $(FUZZ)

mutants: $(VENV)/.has-test
	$(BIN)/python tests/mutants.py --unchanged $(MUTANTS)

lint: $(VENV)/.has-lint
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

docs: $(VENV)/.has-docs
	rm -rf docs/generated
	$(SPHINX) -E -b html docs docs/_build/html
	echo $(PAGES) | xargs -P 2 -n 15 sh -c 'exec $(SPHINX) -t pages-are-written -b doctest docs docs/_build/doctest-$$$$ "$$@"' sphinx

bench: $(VENV)/.has-bench
	$(BIN)/asv machine --yes --config asv_bench/asv.conf.json >/dev/null
	$(BIN)/asv run --config asv_bench/asv.conf.json --python=same --show-stderr $(ASV)

peers: $(VENV)/.has-peers
	$(BIN)/python asv_bench/peers.py $(PEERS)

clean:
	rm -rf .venv docs/_build docs/generated asv_bench/env asv_bench/html asv_bench/results

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "jittape needs Python 3.11 or later; say where: make PYTHON=..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

# One stamp an extra, renewed when the list of dependencies changes.
$(VENV)/.has-%: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --disable-pip-version-check --editable '.[$*]'
	touch $@
