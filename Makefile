# On a fresh machine with Python (3.11 or newer) and make, `make demo` and `make test` are all it takes.
PYTHON ?= python3
BIN := .venv/bin
SETUP := .venv/.setup-done
BENCH_SETUP := .venv/.bench-setup-done

# Not in a lock file: which build of it (CPU, CUDA) is right depends on the machine.
TORCH := torch==2.13.0

# Tests run in two processes, so each gets one BLAS thread.
TEST_ENV := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1
PYTEST := $(TEST_ENV) $(BIN)/python -m pytest -n 2 --durations=10

.PHONY: setup demo test test-slow test-all lint format bench torch lock clean

setup: $(SETUP)

# The package comes last and without build isolation: it is built by the hatchling of the lock.
$(SETUP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
		f"stepgp needs Python 3.11 or newer, but $(PYTHON) is {sys.version.split()[0]}: make PYTHON=…")'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	@touch $@

demo: setup
	$(BIN)/python -m stepgp.demo

# Everything but the tests marked slow.
test: setup
	$(PYTEST) -m "not slow"

# Only those: restarts from everywhere, the demo.
test-slow: setup
	$(PYTEST) -m slow

test-all: setup
	$(PYTEST)

lint: setup
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	PYRIGHT_PYTHON_IGNORE_WARNINGS=1 $(BIN)/pyright

format: setup
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(BENCH_SETUP)
	$(BIN)/python -m benchmarks.fit_time

$(BENCH_SETUP): $(SETUP) requirements-bench.lock
	$(BIN)/python -m pip install --quiet $(TORCH) -r requirements-bench.lock
	@touch $@

# The tests that need torch run where it is installed.
torch: setup
	$(BIN)/python -m pip install --quiet -c requirements-bench.lock $(TORCH)

# Raise every pin to the newest release that pyproject.toml admits.
PIP_COMPILE := CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/pip-compile --quiet --upgrade --strip-extras \
	--no-emit-index-url --no-emit-trusted-host --no-emit-find-links
lock: setup
	$(PIP_COMPILE) --extra plot,pandas,polars,test,dev --build-deps-for editable --allow-unsafe \
		-o requirements.lock pyproject.toml
	echo "$(TORCH)" > .venv/torch.txt
	$(PIP_COMPILE) --extra bench --unsafe-package torch -c requirements.lock -c .venv/torch.txt \
		-o requirements-bench.lock pyproject.toml

clean:
	rm -rf .venv .pytest_cache .ruff_cache .hypothesis build dist
