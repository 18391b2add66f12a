# Needs cargo, a C compiler and Python 3.11 or later; everything else comes into .venv.

PYTHON ?= python3
ARCH ?= arm64
ENV ?= dev

TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)
FUNCTIONS := -p spillway-intake -p spillway-prefetch -p spillway-dispatch

# One profile for what runs on the local stack and for its tests, so that the
# dependencies are built once.
PROFILE := --profile local
STACK := .venv/bin/python infra/local/stack.py --programs $(TARGET_DIR)/local

TRIPLE_arm64 := aarch64-unknown-linux-gnu
TRIPLE_x86_64 := x86_64-unknown-linux-gnu

# What is deployed says which region it goes to; these are for the checks.
LINT_ENV := AWS_DEFAULT_REGION=us-east-1 SAM_CLI_TELEMETRY=0

.DELETE_ON_ERROR:
.PHONY: help demo test bench local-up local-down fmt lint programs release-check rust-target package deploy

help: ## Say what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' Makefile

demo: .venv/local programs ## Send 2,300 jobs through a stack of its own, and count what comes out
	$(STACK) --folder .local/demo run $(TARGET_DIR)/local/spillway demo

test: lint .venv/local programs ## Run every check and every test, those on the emulator too
	cargo test $(PROFILE) --workspace
	SPILLWAY_ENFORCE_ROLES=true $(STACK) --folder .local/test run cargo test $(PROFILE) -p spillway-tests --test emulator

bench: .venv/local programs ## Measure the rules, staging a minute in memory, and a stack of its own
	cargo bench --profile release -p spillway-tests --bench rules -- --noplot --quiet
	$(PYTHON) infra/bench_lines.py $(TARGET_DIR)/criterion
	cargo bench --profile release -p spillway-simulator --bench staging
	$(STACK) --folder .local/bench run cargo bench $(PROFILE) -p spillway-tests --bench local_stack

local-up: .venv/local programs ## Start a stack, or bring new code to it; .local/stack.env tells where it is
	$(STACK) up

local-down: .venv/local ## End the stack of local-up
	$(STACK) down

fmt: ## Format the code
	cargo fmt --all

lint: .venv/lint ## Check format, code and template
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo clippy -p spillway-tests --test emulator -- -D warnings
	$(LINT_ENV) .venv/bin/cfn-lint template.yaml infra/local/channels.yaml
	$(LINT_ENV) .venv/bin/sam validate --lint

programs:
	cargo build $(PROFILE) $(FUNCTIONS) -p spillway-cli

release-check: ## Check that the release binaries are small and start on Amazon Linux 2023
	cargo build --release $(FUNCTIONS)
	$(PYTHON) infra/release_check.py $(TARGET_DIR)/release
	$(PYTHON) infra/cold_start.py $(TARGET_DIR)/release

package: rust-target .venv/deploy ## Build the functions for AWS (ARCH=arm64 or x86_64)
	PATH="$(CURDIR)/.venv/bin:$$PATH" cargo lambda build --release \
		--target $(TRIPLE_$(ARCH)) --lambda-dir target/lambda $(FUNCTIONS)

# The environment's own parameters, and the architecture that was built.
deploy: package ## Deploy to AWS (ENV=dev or prod, ARCH=arm64 or x86_64)
	SAM_CLI_TELEMETRY=0 .venv/bin/sam deploy --config-env $(ENV) --parameter-overrides \
		$$(sed -n '/^\[$(ENV)\./,/^$$/s/^parameter_overrides = "\(.*\)"/\1/p' samconfig.toml) Architecture=$(ARCH)

rust-target:
	@test -n "$(TRIPLE_$(ARCH))" || { echo "error: ARCH is arm64 or x86_64" >&2; exit 1; }
	@test -d "$$(rustc --print sysroot)/lib/rustlib/$(TRIPLE_$(ARCH))" || { \
		echo "error: this Rust toolchain cannot build for $(ARCH): rustup target add $(TRIPLE_$(ARCH))" >&2; exit 1; }

# Each of these is a stamp: the packages that it names are installed.

.venv/python:
	$(PYTHON) -c 'import sys; sys.exit("error: Python 3.11 or later is needed" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv .venv
	touch $@

.venv/local: infra/local/requirements.txt infra/local/constraints.txt .venv/python
.venv/lint: infra/local/requirements-lint.txt infra/local/constraints.txt .venv/python
.venv/deploy: infra/local/requirements-deploy.txt infra/local/constraints.txt .venv/python

.venv/local .venv/lint .venv/deploy:
	.venv/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	touch $@
