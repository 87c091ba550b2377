# Everything that a developer types. `make run` needs nothing before it but Python 3.11 or newer, and the internet or Go;
# `make test` needs Go too, which builds etcd, kube-apiserver and kubectl once. Every step prints one line; a second run builds and fetches nothing.
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
# Python keeps what it compiles, also where the environment forbids it: hundreds of commands would compile the same modules.
export PYTHONDONTWRITEBYTECODE :=

VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
STAMP := $(VENV)/.set-up
STAMP_DEV := $(VENV)/.set-up-dev
PIP := $(PY) -m pip --disable-pip-version-check --quiet --no-input
# uv installs the lock in seconds: pip is for machines without uv, or whose index only pip knows.
# Python compiles the modules that it imports, not all.
INSTALL = install() { uv pip install --quiet --python $(PY) "$$@" 2>/dev/null || $(PIP) install --no-compile "$$@"; }; install
TOOLS := $(PY) -m hack.tools
OPA = "$$($(TOOLS) which opa)"

REGO_COVERAGE := 95 # percent of all lines, tests included: about 90 of the shipped ones
MANIFESTS ?= examples/shop
PYTEST_ARGS ?=
SOAK_MINUTES ?= 30
LOCK_ARGS ?= --upgrade
MUTANTS_ARGS ?=
BENCH_ARGS ?=
# Tests often wait for a real server: three at once keep two cores at work. Each worker has a control plane of its own, and
# the tests of one file stay together and in their order.
PYTEST_WORKERS ?= 3
PYTEST = $(BIN)/pytest -q -n $(PYTEST_WORKERS) --dist loadfile --no-loadscope-reorder

.PHONY: help setup setup-dev setup-test setup-test-long run test test-long test-all check-release bench soak lint fmt rego-lint rego-test reference docs wheel lock sbom release audit picture vendor clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' Makefile | sed -e 's/:.*## /\t/' | expand -t 14

# OPA is downloaded, or built by Go, while pip installs the packages.
setup: ## Virtual environment (.venv) and OPA
	@$(MAKE) --silent -j 2 $(STAMP) opa

.PHONY: opa
opa:
	@"$$(.ci/python)" -m hack.tools install opa

setup-dev: setup ## The same, and the packages of developers
	@$(MAKE) --silent $(STAMP_DEV)

setup-test: setup-dev
	@$(TOOLS) install opa etcd kube-apiserver kubectl gateway-api-crds

setup-test-long: setup-test
	@$(TOOLS) install helm promtool registry versitygw fake-gcs-server
	@$(TOOLS) install azurite-blob || test "$$BRIDGE_NODE" != required
	@$(PY) -m hack.web.chromium

# The project itself is installed last and editable, without asking an index for anything: the lock has its builder too.
$(STAMP): requirements.lock pyproject.toml .ci/python
	@echo "setup: virtual environment in $(VENV)"
	@test -x $(PY) || "$$(.ci/python)" -m venv $(VENV)
	@$(INSTALL) --require-hashes -r requirements.lock
	@$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

$(STAMP_DEV): $(STAMP) requirements-dev.lock
	@echo "setup: packages of developers"
	@$(INSTALL) --require-hashes -r requirements.lock -r requirements-dev.lock
	@touch $@

run: setup ## Serve a folder of manifests (MANIFESTS=examples/shop) until Ctrl-C
	@exec $(BIN)/pbctl run --manifests $(MANIFESTS)

test: setup-test ## Every check and every test except the long ones, with a real OPA and API server: 15 minutes
	@$(MAKE) -j 2 rego-test lint docs
	@echo "test: pytest"
	@$(PYTEST) -m "not long and not needs" $(PYTEST_ARGS)

test-long: setup-test-long ## The other tests: an hour and more (PYTEST_ARGS="--minutes 30" skips what would begin later)
	@echo "test: pytest (long)"
	@$(PYTEST) -m "long or needs" $(PYTEST_ARGS)

LAWS := $(patsubst %,tests/properties/test_%.py,merge_laws replication facts interleavings incremental_statuses incremental_pictures \
	views) tests/unit/derived/test_any_sequence.py

.PHONY: test-laws
test-laws: setup-test
	@echo "test: laws of merging, replication, facts, statuses, pictures and views, with 50 times as many examples"
	@$(PYTEST) --hypothesis-profile=thorough -m "not long" $(LAWS) $(PYTEST_ARGS)

test-all: test test-long test-laws ## Every test

check-release: audit test-all soak fuzz ## Everything that a release must pass: hours

bench: setup-test ## Measure, and print a table with the aims (BENCH_ARGS="--against HEAD~10 --routes 1000")
	@$(PY) -m tests.bench $(BENCH_ARGS)

soak: setup-test ## Tenants that change their objects beside a hostile one, for SOAK_MINUTES
	@exec $(PY) -m tests.soak.soak --minutes $(SOAK_MINUTES)

lint: lint-python lint-javascript rego-lint ## ruff, mypy, import-linter, deptry, ESLint, tsc, opa check, layers and unreachable rules of the Rego

.PHONY: lint-python lint-javascript
lint-python: $(STAMP_DEV)
	@echo "lint: ruff"
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check . || { echo "lint: not formatted; 'make fmt' fixes it" >&2; exit 1; }
	@echo "lint: mypy"
	@$(BIN)/mypy --no-error-summary
	@echo "lint: imports"
	@report=$$($(BIN)/lint-imports --no-cache 2>&1) || { echo "$$report" >&2; exit 1; }
	@echo "lint: dependencies"
	@report=$$($(BIN)/deptry bridge 2>&1) || { echo "$$report" >&2; exit 1; }

# npm installs ESLint and tsc, which check a copy of the page's modules: minified code of others has any type. Without Node.js
# 20.19 or npm's registry nothing is checked; with BRIDGE_NODE=required, as in continuous integration, that is an error.
JAVASCRIPT := .make/javascript
lint-javascript:
	@echo "lint: JavaScript"
	@mkdir -p $(JAVASCRIPT) && cp hack/web/lint/* $(JAVASCRIPT)
	@if cd $(JAVASCRIPT) && { cmp -s package-lock.json node_modules/.lock || \
		{ npm ci --engine-strict --ignore-scripts --no-audit --no-fund --loglevel=error && cp package-lock.json node_modules/.lock; }; }; \
	then npm run --silent check; \
	else echo "lint: JavaScript is not checked: no Node.js 20.19 or newer, or no npm registry" >&2; test "$$BRIDGE_NODE" != required; fi

rego-lint:
	@echo "rego: check"
	@$(OPA) check --strict --ignore '*.yaml' rego examples/extensions hack/rego_layers.rego
	@echo "rego: fmt"
	@$(OPA) fmt --list --fail rego examples/extensions hack/rego_layers.rego >&2 || { echo "rego: these files are not formatted; 'make fmt' fixes it" >&2; exit 1; }
	@echo "rego: layers"
	@$(PY) -m hack.rego_layers rego

rego-test: rego-lint ## Rego alone: opa check, fmt and test, with coverage
	@echo "rego: test"
	@mkdir -p .make
	@GOGC=400 $(OPA) test --timeout 60s --ignore '*.yaml' --threshold $(strip $(REGO_COVERAGE)) rego >.make/rego-test || \
		{ grep -v '^[ {}]' .make/rego-test >&2; echo "rego: .make/rego-test has the failures, or the lines that no test covers" >&2; exit 1; }
	@$(OPA) test --timeout 60s --ignore '*.yaml' --run '^data\.examples\.' rego examples/extensions >/dev/null || \
		{ $(OPA) test --ignore '*.yaml' --run '^data\.examples\.' rego examples/extensions; exit 1; }

fmt: $(STAMP_DEV) ## Format Python and Rego
	@$(BIN)/ruff check --quiet --fix . || true
	@$(BIN)/ruff format --quiet .
	@$(OPA) fmt --write rego examples/extensions hack/rego_layers.rego

reference: setup-dev ## Generate the reference pages from the code
	@$(PY) -m hack.pages.made

docs: $(STAMP_DEV) ## Build the documentation site in .make/site; a broken link is an error
	@echo "docs: mkdocs"
	@report=$$(NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict 2>&1) || { echo "$$report" | grep -v ^INFO >&2; exit 1; }

wheel: $(STAMP) ## A wheel and a source distribution in dist/
	@$(PY) -m hatchling build

.PHONY: manifests
manifests: setup-test-long ## Generate deploy/manifests, and the files of the chart that come from the bridge
	@$(PY) -m hack.manifests.generate

sbom: $(STAMP_DEV) ## Bills of materials of the wheel and the image (CycloneDX), in .make/sbom
	@$(PY) -m hack.supply.release sbom

# RELEASE_REPOSITORY=OWNER/NAME for a fork: where its image, chart and files are published.
release: setup-test-long ## Everything that a release publishes, in dist/, with checksums and bills of materials
	@$(PY) -m hack.supply.release release $(if $(RELEASE_REPOSITORY),--repository $(RELEASE_REPOSITORY))

audit: $(STAMP_DEV) ## Known vulnerabilities of the locked packages; skipped if the data is not available
	@$(PY) -m hack.supply.audit

# Of all platforms and all supported versions of Python, with the hashes of all files of each release.
COMPILE = .make/lock/venv/bin/uv pip compile --quiet --universal --python-version 3.11.5 --generate-hashes --no-header --no-annotate \
	$(LOCK_ARGS) --all-extras pyproject.toml
lock: ## Write both locks (for running, for development) again, with the newest versions (LOCK_ARGS= keeps the current ones)
	@rm -rf .make/lock && mkdir -p .make/lock
	@"$$(.ci/python)" -m venv .make/lock/venv
	@.make/lock/venv/bin/python -m pip --quiet install uv
	@cp requirements.lock .make/lock && cat requirements.lock requirements-dev.lock >.make/lock/all
	@$(COMPILE) --group build --output-file .make/lock/requirements.lock
	@$(COMPILE) --group build --group dev --group docs --constraint .make/lock/requirements.lock --output-file .make/lock/all
	@cd .make/lock && awk 'NR == FNR { if (/==/) known[$$0]; next } /==/ { new = !($$0 in known) } new' requirements.lock all >requirements-dev.lock
	@for file in requirements.lock requirements-dev.lock; do \
		{ sed -n '/^#/p' $$file; cat .make/lock/$$file; } >.make/lock/complete && mv .make/lock/complete $$file || exit 1; \
	done
	@rm -rf .make/lock

picture: $(STAMP_DEV) ## Take new screenshots of the web page for the documentation
	@$(PY) -m tests.web.picture

vendor: $(STAMP_DEV) ## Download the modules of the web page from npm again, at the pinned versions
	@$(PY) -m hack.web.vendoring

clean: ## Remove generated files; the cache of tools stays (`pbctl doctor` shows its path)
	@rm -rf $(VENV) .make build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: mutants
mutants: setup-dev ## A sample of small faults, each of which a quick test must notice (MUTANTS_ARGS="--count 20 --seed 7")
	@$(PY) -m hack.mutants $(MUTANTS_ARGS)

.PHONY: fuzz
fuzz: setup-dev ## FUZZ_REQUESTS=50000 hostile requests to a real bridge, and every decoder for FUZZ_SECONDS=1200 together
	@FUZZ_REQUESTS=$(or $(FUZZ_REQUESTS),50000) FUZZ_SECONDS=$(or $(FUZZ_SECONDS),1200) $(BIN)/pytest -q tests/fuzz $(PYTEST_ARGS)
