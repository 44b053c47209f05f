# `make demo` and `make test` set everything up by themselves; they need Python 3.11 or 3.12, and make.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

SCALE ?= demo
CORES ?= all
ifndef PYTHON
PYTHON := $(shell command -v python3.11 || command -v python3)
endif
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/installed

# One thread a job: jobs run side by side, and several torch threads each would get in each other's way.
export OMP_NUM_THREADS := 1
export MKL_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1
export MPLBACKEND := Agg
export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: help demo oracle test browser test-cluster fuzz faults bench setup docs format schema dvc lock clean

help:
	@echo "make demo          run the whole workflow at the demo scale (SCALE=small or SCALE=paper: larger; VERBOSE=1: all)"
	@echo "make oracle        measure samplers with exact posteriors, without a network: tables of errors and verdicts"
	@echo "make test          format, lint and type checks, then all tests"
	@echo "make test-cluster  all experiments on a SLURM of this machine, jobs killed midway (Debian, as root)"
	@echo "make fuzz          damaged inputs of all kinds for an hour (KINOFLOW_FUZZ_SECONDS=600: for ten minutes)"
	@echo "make faults        errors, torn writes and kills at every write of the main stages"
	@echo "make bench         two ways of doing each thing, compared by CPU time; BENCHMARKS=closed_forms: only some"
	@echo "make setup         only the virtual environment in $(VENV)"
	@echo "make docs          build the documentation as a site in site/"
	@echo "make format        format the Python and Snakemake files"
	@echo "make schema        regenerate workflow/schemas/config.schema.yaml"
	@echo "make dvc           regenerate dvc.yaml from the workflow (SCALE=small or SCALE=paper: for that scale)"
	@echo "make lock          resolve envs/*.in into envs/requirements.txt, cpu.yaml and gpu.yaml"
	@echo "make clean         remove the virtual environment and the caches (not data or results)"

demo: $(STAMP)
	@KINOFLOW_AGAIN="make demo$(if $(filter-out demo,$(SCALE)), SCALE=$(SCALE))" \
		snakemake --cores $(CORES) --rerun-incomplete --show-failed-logs --config scale=$(SCALE)
	@echo "tables: results/$(SCALE)/tables, figures: results/$(SCALE)/figures"
	@echo "The results page: file://$(CURDIR)/results/$(SCALE)/report/index.html"

oracle: $(STAMP)
	snakemake --cores $(CORES) --rerun-incomplete --show-failed-logs --config scale=oracle
	@echo && for table in results/oracle/tables/*_claims.md; do echo "$$table" && sed '/^By path:/,$$d' "$$table"; done

# The tests of the results page need a browser. As root on Debian it is installed; elsewhere these tests are skipped.
browser:
	@command -v chromium >/dev/null && command -v chromedriver >/dev/null \
		|| { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
			&& { apt-get install --yes --no-install-recommends chromium chromium-driver >/dev/null 2>&1 \
				|| { apt-get update && apt-get install --yes --no-install-recommends chromium chromium-driver; } >/dev/null 2>&1; }; } \
		|| echo "no browser: the tests of the results page in a browser are skipped (they need chromium and chromium-driver)"

test: $(STAMP) browser
	ruff check
	ruff format --check
	mypy
	snakefmt --check Snakefile workflow
	snakemake --lint
	pytest -n 2 --dist loadfile --no-loadscope-reorder -rs

test-cluster: $(STAMP)
	pytest tests/cluster

fuzz: $(STAMP)
	KINOFLOW_FUZZ_SECONDS=$${KINOFLOW_FUZZ_SECONDS:-3600} nice pytest tests/fuzz

faults: $(STAMP)
	KINOFLOW_FAULTS=all nice pytest tests/faults

bench: $(STAMP)
	python -m benchmarks $(BENCHMARKS)

setup: $(STAMP)

$(STAMP): envs/requirements.txt
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info[:2] not in ((3, 11), (3, 12)))' 2>/dev/null \
		|| { echo "error: '$(PYTHON)' is not Python 3.11 or 3.12; name one: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@[ ! -L $(VENV) ] || { echo "error: $(VENV) is a link to an environment that is older than $<; remove the link" >&2; exit 1; }
	"$(PYTHON)" -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --requirement envs/requirements.txt
	echo "$(CURDIR)" > "$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/kinoflow.pth"
	touch $(STAMP)

format: $(STAMP)
	ruff check --fix
	ruff format
	snakefmt Snakefile workflow

docs: $(STAMP)
	NO_MKDOCS_2_WARNING=1 mkdocs build --quiet
	@echo "site/index.html"

schema: $(STAMP)
	python -m pipeline schema --output workflow/schemas/config.schema.yaml

dvc: $(STAMP)
	python -m pipeline dvc --config config/$(SCALE).yaml --output dvc.yaml

# A local version such as torch's "+cpu" names a build, not a release: it is left out, so that the lock fits every machine.
lock:
	rm -rf .lock && "$(PYTHON)" -m venv .lock
	.lock/bin/python -m pip install --quiet --requirement envs/requirements.in --requirement envs/development.in
	{ echo "# Every package, exact; made by 'make lock' from requirements.in and development.in."; \
		.lock/bin/python -m pip freeze | sed 's/+[a-z0-9.]*$$//'; } > envs/requirements.txt
	for kind in cpu gpu; do \
		{ echo "# The packages of requirements.txt for conda$$([ $$kind = cpu ] || echo ", and those of gpu.txt"); made by 'make lock'."; \
			printf '%s\n' 'channels: [conda-forge]' 'dependencies:' '  - python=3.11' '  - pip' '  - pip:'; \
			cat envs/requirements.txt $$([ $$kind = cpu ] || echo envs/gpu.txt) | sed -n '/^[^#-]/s/^/      - /p'; } > envs/$$kind.yaml; \
	done
	rm -rf .lock

clean:
	rm -rf $(VENV) .lock .pytest_cache .ruff_cache .mypy_cache .hypothesis
