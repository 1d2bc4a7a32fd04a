SCALE ?= quick
PAPERS ?=
CORES ?= $(shell nproc 2>/dev/null || echo 2)
PYTHON ?= python3
BIN := .venv/bin
CONFIG := scale=$(SCALE) $(if $(PAPERS),papers=$(PAPERS)) $(if $(SEEDS),seeds=$(SEEDS))

.DEFAULT_GOAL := help
.PHONY: env figures test check reference help

env: .venv/.made               ## make the virtual environment .venv from the pinned lock

.venv/.made: envs/requirements.lock envs/requirements-torch-cpu.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "expected Python >= 3.11, got $$($(PYTHON) --version): run make PYTHON=python3.11" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --require-hashes --no-deps -r envs/requirements.lock
	$(BIN)/python -m pip install --quiet -r envs/requirements-torch-cpu.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

figures: env                   ## run the workflow and draw: SCALE=smoke|quick|paper PAPERS=bbkb,bkb SEEDS=0-4 CORES=N
	PATH="$(CURDIR)/$(BIN):$$PATH" snakemake --cores $(CORES) --config $(CONFIG)

test: env                      ## run the test suite
	$(BIN)/python -m pytest

check: env                     ## formatter, linter, type checker, snakefmt, snakemake --lint
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/snakefmt --check Snakefile workflow/rules
	PATH="$(CURDIR)/$(BIN):$$PATH" snakemake --lint

reference: env                 ## copy the figures, tables and verdicts of a scale to the committed figures/reference
	$(BIN)/python -m workflow.reference $(SCALE) $(PAPERS)

help:                          ## list the targets and what they take from the environment
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/' | expand -t 12
	@echo
	@echo "NOREGRET_DATA=DIR|URL           a mirror of the data, asked before the canonical URLs (data/README.md)"
	@echo "NOREGRET_SUBSTITUTES=allowed    labelled substitutes at paper scale, too, where data cannot be had"
	@echo "NOREGRET_SUBSTITUTES=preferred  no downloads: labelled substitutes for all data that are not on this machine"
