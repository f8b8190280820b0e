# The front door for people. Every target builds what it needs; nothing has to be installed first but Python 3.11+.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.locked
# Compiled modules are kept: the tests start hundreds of processes, and pytest rewrites every assertion.
export PYTHONDONTWRITEBYTECODE :=
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: setup check test plays deep stalls demo paid-api bench abuse campaign lives chain-campaign keeper-campaign mcpb conformance inspector clients clients-build venue-clients fuzz conform contracts invariants prove slither mutants screens descriptor lint texts lock clean bench-peers release deploy-check

setup: $(STAMP)

$(STAMP): locks/dev.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed") if sys.version_info < (3, 11) else None'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --require-hashes -r locks/dev.txt
	$(BIN)/python -m pip install -q --no-deps --no-build-isolation -e .
	touch $(STAMP)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# The quick tier: under a minute, for the loop at the desk; SQLite only, and no chain.
check: lint
	$(BIN)/pytest -q -x -n 2 --dist worksteal -m "not slow and not campaign and not play and not evm and not pg and not anvil and not node"

# Some tests wait for processes that start and for others: on two cores three workers are quicker than two.
WORKERS ?= 3
test: lint
	$(BIN)/pytest -q -n $(WORKERS) --dist worksteal -rs -m "not campaign and not play"

# Whole systems at work for a long while: what is at stake in them is tested part by part in make test.
plays: setup
	$(BIN)/pytest -q -n 2 --dist worksteal -rs -m play

# The packages of x402, in an environment of their own.
X402 := build/x402/bin/python
$(X402): locks/x402.txt | setup
	$(BIN)/python -c "from tests.fetched import python_of; python_of('x402')"
	touch -c $@

demo: $(X402)
	$(BIN)/wallet demo --seller "$(X402) docs/examples/paid_api/seller.py"

# A service that is paid a request, and its facilitator, on a chain of yours: RPC_URL, USDC, PAY_TO, FACILITATOR_KEY.
paid-api: $(X402)
	$(X402) docs/examples/paid_api/seller.py --rpc-url $(RPC_URL) --usdc $(USDC) --pay-to $(PAY_TO)

bench: setup
	$(BIN)/python -m bench

# Strangers who mean no good, one by one and all at once, beside an agent who asks for its limits; under five minutes.
ABUSE_S ?= 45
abuse: setup
	$(BIN)/python -m bench.abuse $(ABUSE_S)

# Ponder's reader beside ours, on the same Anvil and PostgreSQL; npm fetches it, from a lock.
bench-peers: setup
	$(BIN)/python -m bench.peers.measure

# The long forms of what make test does shortly: more examples of each property, more seeds, five times the record, and
# five hundred calls of each client through a balancer.
deep: setup
	EXAMPLES=deep $(BIN)/pytest -q -n 2 --dist worksteal -m "not campaign" tests/domain tests/venue tests/chain tests/tools/call
	$(BIN)/pytest -q -n 2 --dist worksteal -m campaign tests/chain tests/conformance tests/stateful
	LARGE_ROWS=307200 LARGE_MANDATES=20000 $(BIN)/pytest -q -n 0 tests/tools/test_large.py
	BALANCER_CALLS=500 $(BIN)/pytest -q -n 2 tests/server/test_balancer.py

# The tests that end by themselves on a machine that stands still for STALL_S seconds now and then; STALL_SEED says where.
stalls: setup
	STALL_S=$${STALL_S:-4} $(BIN)/pytest -q -n 2 --dist worksteal -m "not campaign and not node and not anvil"

# Random lives against the real vault, told in any order, and shown by a service in every configuration beside a second, slow
# book; LIVES_SEED=n plays the same ones again.
lives: setup
	$(BIN)/pytest -q -x -s tests/lives tests/figures/test_lives.py

# Faults under load, and an audit from outside after each: CAMPAIGN_S seconds of plays, from CAMPAIGN_SEED on.
campaign: setup
	$(BIN)/pytest -q -x -s -n 0 -m campaign tests/campaign tests/server/test_act_killed.py

# Lives that are reorganised deeper than the confirmations, on both chains: CHAIN_RUNS a chain, from CHAIN_SEED on;
# CHAIN_OMITS=1 puts them behind nodes that leave logs out.
chain-campaign: setup
	$(BIN)/pytest -q -s -n 0 -m campaign tests/chain_campaign

# The keeper of the stop line at the venue, and people's orders there: killed at every step, and beside a venue that fails
# and lies within its forms at random: KEEPER_RUNS plays from KEEPER_SEED on.
keeper-campaign: setup
	$(BIN)/pytest -q -s -n 0 -m campaign tests/tools/trading/test_stop_line_chaos.py tests/tools/trading/test_order_chaos.py

# A bundle for hosts that install MCP servers from one file; its own tool validates and packs it.
mcpb: setup
	cd tests/node && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	$(BIN)/python mcpb/stage.py build/mcpb
	tests/node/node_modules/.bin/mcpb validate build/mcpb/manifest.json
	tests/node/node_modules/.bin/mcpb pack build/mcpb build/wallet.mcpb

# Other people's checkers and clients against ours; Node 20 with npm fetches them, from a lock.
conformance: setup
	$(BIN)/pytest -q tests/conformance

inspector: setup
	$(BIN)/pytest -q tests/clients -k inspector

clients: setup
	$(BIN)/pytest -q tests/clients -k story

# The official SDK, @nktkas/hyperliquid and ccxt at the local venue; TypeScript over its answers.
venue-clients: setup
	$(BIN)/pytest -q tests/venue/devvenue/test_clients.py tests/venue/devvenue/test_types.py

# Both typed clients out of docs/openapi.json, into build/clients: sources of a wheel and of an npm package.
clients-build: setup
	$(BIN)/python clients/generate.py

# The reference agent through every scenario that a harness has to survive, and ten bad habits.
conform: setup
	$(BIN)/pytest -q -n 2 tests/conform
	$(BIN)/wallet conform -- $(BIN)/python docs/examples/agent.py '{market}' '{amount}'
	$(BIN)/wallet conform -- $(BIN)/python docs/examples/act_agent.py '{market}' '{amount}'

# Schemathesis over the whole OpenAPI document, as each kind of caller.
fuzz: setup
	FUZZ_EXAMPLES=$${FUZZ_EXAMPLES:-10} $(BIN)/pytest -q -n 2 tests/surfaces/test_fuzz.py

contracts:
	cd contracts && npm ci --ignore-scripts --no-audit --no-fund && node build.mjs

# A long search for an agent that beats its exposure; 10,000 runs of the hostile campaign on forge's EVM; the forge that tests/node locks, the compiler that contracts/ locks.
FORGE := $(CURDIR)/tests/node/node_modules/@foundry-rs/forge-linux-amd64/bin
invariants: setup
	$(BIN)/python -c "from tests import npm; npm.install(); npm.install(npm.FOLDER.parents[1] / 'contracts')"
	$(BIN)/pytest -q -m campaign tests/contracts
	cd contracts && FOUNDRY_PROFILE=long $(FORGE)/forge test --match-contract Campaign

# The owner's way in a real browser: Debian's chromium, and Playwright in a folder of its own.
BROWSER := build/browser
$(BROWSER)/.locked: locks/browser.txt
	rm -rf $(BROWSER)
	$(BIN)/python -m pip install -q --require-hashes --target $(BROWSER) -r locks/browser.txt
	touch $@

screens: setup $(BROWSER)/.locked
	PYTHONPATH=$(BROWSER) $(BIN)/pytest -q -n 0 -rs tests/browser

# The public checker of ERC-7730 over the terms' descriptor; it wants Python 3.12 and is in an environment of its own.
CHECKER := .venv-erc7730
$(CHECKER)/.locked: locks/erc7730.txt
	test -x $(CHECKER)/bin/python || $${PYTHON312:-python3.12} -m venv $(CHECKER)
	$(CHECKER)/bin/python -m pip install -q --require-hashes -r locks/erc7730.txt
	touch $@

descriptor: setup $(CHECKER)/.locked
	ERC7730=$(CURDIR)/$(CHECKER)/bin/erc7730 $(BIN)/pytest -q -n 0 tests/app/test_descriptor.py

# Halmos and slither, in an environment of their own.
PROVE := .venv-prove
$(PROVE)/.locked: locks/prove.txt
	test -x $(PROVE)/bin/python || $(PYTHON) -m venv $(PROVE)
	$(PROVE)/bin/python -m pip install -q --require-hashes -r locks/prove.txt
	touch $@

prove: setup $(PROVE)/.locked
	$(BIN)/python -c "from tests import npm; npm.install(); npm.install(npm.FOLDER.parents[1] / 'contracts')"
	cd contracts && $(FORGE)/forge build --ast --force && PATH=$(FORGE):$$PATH $(CURDIR)/$(PROVE)/bin/halmos \
	  --match-contract Symbolic --forge-build-out out --loop 12 --solver-timeout-assertion 600000

# Slither's compiler driver finds foundry.toml here and asks forge for its settings. What it finds below high severity
# is answered in contracts/SECURITY.md.
slither: setup $(PROVE)/.locked
	$(BIN)/python -c "from tests import npm; npm.install(); npm.install(npm.FOLDER.parents[1] / 'contracts')"
	cd contracts && PATH=$(FORGE):$$PATH $(CURDIR)/$(PROVE)/bin/slither src --solc ./solc-npm --solc-standard-json \
	  --solc-remaps "@openzeppelin/=node_modules/@openzeppelin/" --exclude-dependencies --filter-paths node_modules --fail-high

# Small changes of the contracts, each of which a test must notice; prints the score and names the survivors. An
# interrupted run goes on; revm in a folder of its own.
REVM := build/revm
$(REVM)/.locked: locks/mutants.txt
	rm -rf $(REVM)
	$(BIN)/python -m pip install -q --require-hashes --target $(REVM) -r locks/mutants.txt
	touch $@

mutants: setup $(REVM)/.locked
	PYTHONPATH=$(REVM) $(BIN)/python -m tests.contracts.mutation --verbose

# The sdist, the wheel out of it and what to install it with, into dist/; equal byte for byte for equal commits.
release: setup
	$(BIN)/python deploy/release.py dist

# Everything that is shipped for operators, executed: the release installed by pip, pipx and uv, each step of the Containerfile,
# the service behind nginx and caddy, units, manifests. What a machine lacks is named.
deploy-check: setup
	$(BIN)/pytest -q -n 2 -rs tests/deploy

# The catalogues of the screens' texts with the texts of today; what is new in them waits for its translation.
texts: setup
	$(BIN)/python -m devtools.texts

# Needs uv; run after a change of the dependencies in pyproject.toml.
lock:
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --extra demo --extra keyring --extra otel --group dev pyproject.toml -o locks/dev.txt
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header -c locks/dev.txt pyproject.toml -o locks/run.txt
	printf 'opentelemetry-api\nopentelemetry-exporter-otlp-proto-http\nopentelemetry-sdk\n' | uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate -c locks/dev.txt - -o locks/otel.txt
	echo "hatchling>=1.27" | uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate -c locks/dev.txt - -o locks/build.txt
	echo "mcp<2" | uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate - -o locks/mcp1.txt
	echo "ccxt" | uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate - -o locks/ccxt.txt
	printf 'halmos>=0.3.3\nslither-analyzer>=0.11.6\n' | uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate - -o locks/prove.txt
	echo "erc7730" | uv pip compile -q --python-version 3.12 --generate-hashes --no-emit-index-url --no-header --no-annotate - -o locks/erc7730.txt
	echo "pyrevm>=0.3.7" | uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate - -o locks/mutants.txt
	uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate bench/twin/requirements.in -o bench/twin/requirements.txt
	printf 'x402[evm]\nfastapi\nhttpx\nuvicorn\n' | uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate - -o locks/x402.txt
	echo "playwright" | uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate - -o locks/browser.txt

clean:
	rm -rf $(VENV) $(PROVE) $(CHECKER) contracts/out build dist .hypothesis .mypy_cache .ruff_cache
