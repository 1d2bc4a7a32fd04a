SCALE ?= paper
PAPERS ?=
CORES ?= $(shell nproc 2>/dev/null || echo 2)
PYTHON ?= python3
BIN := .venv/bin
# whatever the locale: Snakemake opens its own log in the locale's encoding
export PYTHONUTF8 := 1
.DEFAULT_GOAL := help
TARGETS := env figures figure report site status compare verify publish carry history crate test test-all mutants parity check reference bench help
.PHONY: $(TARGETS)

# What may be said on the command line beside PYTHON, target by target; anything else is refused before anything starts.
takes-figures := SCALE PAPERS SEEDS CORES FRESH
takes-figure := FIGURE
takes-report := $(takes-figures)
takes-status := $(takes-figures)
takes-compare := METHOD FIGURE PARAMETERS CORES
takes-verify := SCALE PAPERS MINUTES N ONLY SEED CORES
takes-publish := SCALE PAPERS FROM
takes-carry := SCALE PAPERS SEED CORES
takes-test := CORES
takes-test-all := CORES
takes-mutants := N SEED
takes-parity := CORES
takes-reference := PAPERS CORES
takes-bench := ONLY

comma := ,
blank := $(subst ,, )
GOALS := $(or $(MAKECMDGOALS),$(.DEFAULT_GOAL))
TAKEN := $(sort PYTHON $(foreach goal,$(GOALS),$(takes-$(goal))))
GIVEN := $(foreach name,$(.VARIABLES),$(if $(findstring command line,$(origin $(name))),$(name)))
unknown := $(filter-out $(TAKEN) MAKEFLAGS,$(GIVEN))
ifneq ($(unknown),)
  $(error make $(GOALS) reads no $(firstword $(unknown)). It reads: $(TAKEN))
endif
# names of papers with commas, blanks or both between them
override PAPERS := $(subst $(blank),$(comma),$(strip $(subst $(comma),$(blank),$(PAPERS))))

# what was said on the command line; all, if nothing was
CHOSEN := $(if $(filter-out file,$(origin SCALE)),--scale $(SCALE)) $(if $(PAPERS),--papers $(PAPERS))
CONFIG := scale=$(SCALE) $(if $(PAPERS),papers=$(PAPERS)) $(if $(SEEDS),seeds=$(SEEDS)) $(if $(FRESH),fresh=$(FRESH))

# One line on a terminal, few elsewhere; Snakemake's own log below .snakemake/log has every job. It finds the plugin that prints
# them in folders of sys.path alone, not in an editable install.
SNAKEMAKE = PATH="$(CURDIR)/$(BIN):$$PATH" PYTHONPATH="$(CURDIR)$${PYTHONPATH:+:$$PYTHONPATH}" snakemake --logger noregret --quiet host

env: .venv/.made               ## make the virtual environment .venv from the locks in envs

.venv/.made: envs/install.sh envs/requirements.lock envs/requirements-source.lock envs/requirements-torch.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' || \
	  { echo "expected Python 3.11, 3.12 or 3.13, got $$($(PYTHON) --version): run make PYTHON=python3.11" >&2; exit 1; }
	$(PYTHON) -m venv .venv
	sh envs/install.sh $(BIN)/python
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

figures: env                   ## draw what is published, make a sample of it again: PAPERS=bbkb,bkb CORES=N; or run: SCALE=smoke|paper SEEDS=0-4 FRESH=1
ifneq ($(or $(filter-out file,$(origin SCALE)),$(SEEDS),$(FRESH)),)
	$(SNAKEMAKE) --cores $(CORES) --config $(CONFIG)
else
	$(SNAKEMAKE) --cores $(CORES) drawn --config $(CONFIG)
	$(BIN)/python -m workflow.reference --agreement figures/drawn
	$(BIN)/python -m workflow.verify --scale paper $(if $(PAPERS),--papers $(PAPERS)) --cores $(CORES) || \
	  [ $$? = 2 ]  # nothing can be made here bit for bit, and the lines above say why
endif

figure: env                    ## draw one figure or table, or the verdicts, from what is published: FIGURE=go_ucb/fig2
	$(if $(FIGURE),,$(error expected FIGURE=PAPER/NAME, such as FIGURE=go_ucb/fig2, got none))
	$(BIN)/python -m workflow.report "$(firstword $(subst /, ,$(FIGURE)))" "$(lastword $(subst /, ,$(FIGURE)))" \
	  --partial -o figures/drawn/"$(firstword $(subst /, ,$(FIGURE)))"

TESTS = OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses $(CORES) --maxprocesses 8 --dist loadfile

test: env                      ## run the tests but those marked slow, a file at a time on each of CORES (8 at most)
	$(TESTS) -m "not slow"

test-all: env                  ## run all tests, those over many seeds, too: CORES
	$(TESTS)

mutants: env                   ## plant N=40 bugs of one line in algorithms and problems, and say which of them no test notices: N SEED
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.mutants $(or $(SEED),1) $(or $(N),40)

parity: env                    ## compare step by step with the authors' public codes, on real tables where NOREGRET_DATA has them: CORES
	$(TESTS) tests/parity

check: env                     ## formatter, linter, type checker, imports, snakefmt, snakemake --lint, whether generated pages are up to date and published records are of today's code and plan
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/snakefmt --check Snakefile workflow/rules
	PATH="$(CURDIR)/$(BIN):$$PATH" snakemake --lint
	$(BIN)/python -m workflow.reference --check
	$(BIN)/python -m workflow.schema --check
	$(BIN)/python -m workflow.history --check
	$(BIN)/python -m workflow.carry --check

report: env                    ## as `make figures SCALE=paper`, then the site report/SCALE/index.html and Snakemake's own report: SCALE PAPERS SEEDS CORES FRESH
	$(SNAKEMAKE) --cores $(CORES) report --config $(CONFIG)
	PATH="$(CURDIR)/$(BIN):$$PATH" snakemake --config $(CONFIG) --report report/$(SCALE)/snakemake.zip

site: env                      ## the site of the committed figures/reference, in seconds and without a run: open report/reference/index.html
	$(BIN)/python -m workflow.site

status: env                    ## runs done, published, stale and missing, what they cost and will cost: SCALE PAPERS SEEDS CORES FRESH
	$(BIN)/python -m workflow.status --scale $(SCALE) --cores $(CORES) $(if $(PAPERS),--papers $(PAPERS)) \
	  $(if $(SEEDS),--seeds $(SEEDS)) $(if $(filter 1,$(FRESH)),--fresh)

compare: env                   ## run a method of yours in a paper's figure, judge it against its curves: METHOD=my_method FIGURE=go_ucb/fig2 PARAMETERS=FILE CORES
	$(BIN)/python -m workflow.compare "$(METHOD)" "$(FIGURE)" $(if $(PARAMETERS),--parameters "$(PARAMETERS)") --cores $(CORES)

verify: env                    ## run a sample of the records again, compare bit for bit: MINUTES=1 of each paper, N=40 of all, or ONLY=bkb/abalone/BKB/0; SEED SCALE PAPERS CORES
	$(BIN)/python -m workflow.verify $(CHOSEN) --cores $(CORES) $(if $(MINUTES),--minutes $(MINUTES)) \
	  $(if $(SEED),--seed $(SEED)) $(if $(N),--many $(N)) $(if $(ONLY),--only $(ONLY))

publish: env                   ## add finished records to figures/reference/records: PAPERS FROM=results SCALE (default: paper)
	$(BIN)/python -m workflow.publish $(PAPERS) $(if $(filter-out file,$(origin SCALE)),--scale $(SCALE)) \
	  $(if $(FROM),--from "$(FROM)")

carry: env                     ## when code changed: make some published records again, stamp the others if these are equal: PAPERS SCALE SEED CORES
	$(BIN)/python -m workflow.carry $(PAPERS) $(if $(filter-out file,$(origin SCALE)),--scale $(SCALE)) \
	  $(if $(SEED),--seed $(SEED)) --cores $(CORES)

history: env                   ## enter in papers/history.json since when checks and defaults are what they are
	$(BIN)/python -m workflow.history

crate: env                     ## the published records and reports as an RO-Crate, for a deposit: build/crate
	$(BIN)/python -m workflow.crate

reference: env                 ## draw the largest scale that was run into figures/reference, and the tables of docs/which-method.md: PAPERS CORES
	$(BIN)/python -m workflow.reference $(PAPERS) --cores $(CORES)

bench: env                     ## time our steps beside other libraries', into benchmarks/report; some, into build/bench: ONLY=arms,boxes
	$(BIN)/python -m benchmarks.bench $(if $(ONLY),--only "$(ONLY)")

help:                          ## list the targets and what they take from the environment
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/' | expand -t 12
	@echo
	@echo "FRESH=1                         make what is published anew: records in figures/reference/records are ignored"
	@echo "NOREGRET_DATA=DIR|URL           a mirror of the data, asked before the canonical URLs (data/README.md)"
	@echo "NOREGRET_SUBSTITUTES=allowed    labelled substitutes at paper scale, too, where data cannot be had"
	@echo "NOREGRET_SUBSTITUTES=preferred  no downloads: labelled substitutes for all data that are not on this machine"
	@echo "NOREGRET_TORCH_INDEX=URL        where make env looks for PyTorch's CPU build, if pip's own index has none (envs/README.md)"
