# Needs python3 (3.11 or newer, with venv) and a package index; everything else goes into .venv.
# `make` = lint + types + tests; `make help` lists the rest.

PYTHON ?= python3
JOBS ?= 2
TESTERS ?= $(shell echo $$(($(JOBS) + 3))) # tests of several processes wait for each other more than they compute

bin := .venv/bin
code := $(wildcard src tests tools bench examples)

# $(call check,NAME,COMMAND): one line when the command succeeds, all it printed when it fails.
check = @out=$$($(2) 2>&1) && echo "ok    $(1)" || { printf '%s\n' "$$out"; echo "FAIL  $(1)"; exit 1; }

.DEFAULT_GOAL := test
.PHONY: test pytest collect node-packages lint ruff format-check imports licences env types docs docs-check house format demo tour screenshots bench eval-scan soak fuzz mutants corpus lock clean help

test: .venv/dev.stamp ## Lint, types, tests with coverage (the default)
	@rm -f .cache/tests.txt; began=$$(date +%s); \
	$(MAKE) --no-print-directory -j$(TESTERS) collect node-packages && $(MAKE) --no-print-directory -j$(TESTERS) lint pytest; status=$$?; \
	echo "make test: $$(($$(date +%s) - began)) s"; cat .cache/tests.txt 2>/dev/null || echo "tests: not run"; exit $$status

pytest: .venv/dev.stamp ## Tests with coverage
	@tools/install-debian tmux bubblewrap:bwrap postgresql:postgres faketime dovecot-imapd:dovecot chromium
	@mkdir -p .cache/coverage && rm -f .cache/coverage/data*
	@$(bin)/pytest -q -n $(TESTERS) --maxschedchunk 32 -m 'not soak' --cov --cov-report=
	@$(bin)/coverage json -q
	@$(bin)/python tools/check_coverage.py .cache/coverage/report.json

# Done once, what takes long in each process that runs tests: compiling all of them.
collect: .venv/dev.stamp
	$(call check,tests collected,PYTHONDONTWRITEBYTECODE= $(bin)/pytest --collect-only -q -m 'not soak')

# Done first, so that no test waits for npm.
node-packages: .venv/dev.stamp
	$(call check,packages of node,$(bin)/python tools/node_packages.py)

lint: types ruff format-check imports licences env docs-check house ## Style, import direction, licences, types

ruff: .venv/dev.stamp
	$(call check,ruff check,$(bin)/ruff check $(code))

format-check: .venv/dev.stamp
	$(call check,ruff format,$(bin)/ruff format --check $(code))

imports: .venv/dev.stamp
	$(call check,import layers,$(bin)/lint-imports --cache-dir .cache/imports)

licences: .venv/dev.stamp
	$(call check,licences,$(bin)/python tools/check_licences.py)

env: .venv/dev.stamp
	$(call check,tests leave os.environ alone,$(bin)/python tools/check_env.py tests)

house: .venv/dev.stamp
	$(call check,words and shape of the source,$(bin)/python tools/check_house.py)

types: .venv/dev.stamp ## Strict types
	$(call check,mypy --strict,$(bin)/mypy $(code))

format: .venv/dev.stamp ## Format the code and fix what can be fixed
	@$(bin)/ruff check --fix-only --quiet $(code)
	@$(bin)/ruff format $(code)

docs-check: .venv/dev.stamp
	$(call check,generated docs,$(bin)/python tools/docs.py --check)

docs: .venv/dev.stamp ## Write the generated pages of docs/
	@$(bin)/python tools/docs.py

demo: .venv/run.stamp ## See it work
	@$(bin)/weft demo

tour: .venv/dev.stamp ## Record docs/tour.svg anew
	@PYTHONPATH=bench $(bin)/python tools/tour.py

screenshots: .venv/dev.stamp ## Take the pictures of the console in docs/screenshots anew
	@tools/install-debian chromium
	@PYTHONPATH=bench $(bin)/python tools/screenshots.py

bench: .venv/dev.stamp ## Measure
	@$(bin)/python bench/run.py

# Also: HALF=A|B|all, PEER=1 or the Python of Cisco's scanner, JSON=file, ARCHIVE=folder of skills.
eval-scan: .venv/dev.stamp ## Measure the scanner on labelled skills: make eval-scan DATA=folder
	@test -n "$(DATA)$(ARCHIVE)" || { echo "usage: make eval-scan DATA=folder [HALF=A|B|all] [PEER=1]" >&2; exit 2; }
	@$(bin)/python bench/eval_scan.py $(DATA) --half $(or $(HALF),all) $(if $(PEER),--peer $(PEER)) \
		$(if $(JSON),--json $(JSON)) $(if $(ARCHIVE),--archive $(ARCHIVE))

# Tests of what keeps programs in and asks before they get out. `make soak` as root runs them as root and as a normal
# user, each under bubblewrap and under Landlock.
boundary = tests/sandbox tests/attacks tests/agent/mcp/test_confined.py tests/agent/tools/test_dynamic.py tests/trust/test_programs.py \
	tests/agent/test_text_limits.py tests/agent/test_decided.py tests/agent/test_denied_history.py tests/server/test_connections.py \
	tests/server/test_decided.py tests/cli/repl/commands/test_trust.py tests/cli/test_config_review.py \
	tests/cli/test_settings_audited.py tests/cli/test_hidden_characters.py tests/cli/test_trust_instructions.py \
	tests/cli/plugins/test_secret_settings.py

soak: .venv/dev.stamp ## Kill what writes sessions, does runs, answers messages, installs and asks the daemon, again and again; nothing may be lost: make soak [SEED=7]
	@$(bin)/python bench/soak_sessions.py
	@$(bin)/python bench/soak_turns.py
	@$(bin)/python bench/soak_runs.py $(if $(SEED),--seed $(SEED))
	@$(bin)/python bench/soak_gateway.py $(if $(SEED),--seed $(SEED))
	@$(bin)/python bench/soak_install.py $(if $(SEED),--seed $(SEED))
	@$(bin)/python bench/soak_faults.py $(if $(SEED),--seed $(SEED))
	@$(bin)/python bench/soak_serve.py $(if $(SEED),--seed $(SEED))
	@$(bin)/pytest -q -n $(JOBS) -m soak
	@$(bin)/pytest -q -n $(JOBS) -m 'not soak' $(boundary)
	@$(bin)/python tools/as_user.py -m pytest -q -n $(JOBS) $(boundary)

fuzz: .venv/dev.stamp ## Break files and texts at random for a minute; the scanner must bear it: make fuzz [SECONDS=60]
	@$(bin)/python bench/fuzz_scan.py --seconds $(or $(SECONDS),60)

# Also: MODULE='install/lockfile/compare.py …', SEED=1, LIMIT=22 changes of each module, JOBS at a time.
mutants: .venv/dev.stamp ## Change what decides and recovers, line by line; tests must notice: make mutants [MODULE=install/lockfile/compare.py] [SEED=1]
	@$(bin)/python tools/mutants.py --jobs $(JOBS) $(if $(SEED),--seed $(SEED)) $(if $(LIMIT),--limit $(LIMIT)) \
		$(if $(MODULE),--module $(MODULE))

corpus: .venv/dev.stamp ## Read every skill below a folder: make corpus DIR=path
	@test -n "$(DIR)" || { echo "usage: make corpus DIR=path" >&2; exit 2; }
	@$(bin)/python bench/corpus.py "$(DIR)"

lock: .venv/python.stamp ## Pin dependencies anew: make lock [UPGRADE=1]
	@tools/lock $(if $(UPGRADE),--upgrade)

clean: ## Remove what make made
	@rm -rf .venv .cache .hypothesis build dist
	@find src tests tools $(wildcard bench examples) -name __pycache__ -type d -prune -exec rm -rf {} +

help: ## This list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 14

# The environment, in steps: `make demo` installs the product with the daemon, MCP, durable runs and the hub.
.venv/python.stamp:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
	@echo "making .venv"
	@$(PYTHON) -m venv .venv
	@touch $@

.venv/run.stamp: .venv/python.stamp requirements/run.txt requirements/build.txt pyproject.toml
	@echo "installing clawft"
	@UV_COMPILE_BYTECODE=1 tools/install --require-hashes -r requirements/run.txt -r requirements/build.txt
	@tools/install --no-deps --no-build-isolation --editable .
	@$(bin)/python -m compileall -q src
	@touch $@

.venv/dev.stamp: .venv/run.stamp requirements/dev.txt
	@echo "installing what checks it"
	@tools/install --require-hashes -r requirements/dev.txt
	@touch $@
