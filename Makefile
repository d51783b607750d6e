# Everything a contributor runs. Needs Go and a POSIX shell; the tools are
# pinned in tools/go.mod and built on first use.

GO      ?= go
TOOL    := $(GO) tool -modfile=tools/go.mod

# A whole run of the tests has to end within this time, or it says where it hangs.
TIMEOUT ?= 10m
# Seeds of make sim, and the one seed to replay: make sim SEED=42
SEEDS   ?= 20000
SEED    ?=
# How long each fuzz target runs.
FUZZ    ?= 5s
# Systems of make cross.
CROSS   ?= linux/386 windows/amd64 darwin/arm64
# Every test runs once: under the race detector in packages with goroutines, without it elsewhere. The pure core
# has no goroutines, and the simulation is single-threaded and slow under it. What plays whole stories with what is
# raced (the client, whole nodes, commands, nodes as processes, examples, the pages of the documentation, bad input)
# and the tools of tests run without it, and so do the tests of LONG: they play minutes of fake time, kill
# processes or go through every operation of a file system one by one, with what other tests race.
PURE    := archtest bench block coord experiment experiment/all fault filter flow forecast heap limit mapping model near partition planted quota retry route scale sched sim
STORIES := alerttest client node service cli cli/ansisvg fleet serverkill badinput docstest recorder testenv testenv/faultproxy examples/cluster examples/quickstart examples/rewards examples/server examples/webhook
LONG    := Killed|StoppedCleanly|AtEveryFileOperation|DamageIsNeverSilent|IncidentDownstream|IsCutOffIs|RefusalsAtRandom|WorkersSetByHand|RollingRestart|LeadersDeath|RateIsLearned|HoursOfBackoff|EndlessLineCosts|KeysTakeAtMost|PoisonIsContained|InForceWhenTheChange|AfterAChangeOfEither|PausedResumedAndCancelled|SharedWorkEndsOnce|SharedWorkOutlives|SameHugeSubmit|CanaryRunsFirst|LargeItemsInUneven|DownstreamThatAsksForIt|MissingFilesAreNeverSilent
ALL     = $(shell $(GO) list ./...)
PLAIN   = $(filter $(addprefix %/,$(PURE) $(STORIES)),$(ALL))
RACE    = $(filter-out $(PLAIN),$(ALL))
LONGIN  = $(sort $(dir $(shell grep -lE 'func Test[A-Za-z]*($(LONG))' $(patsubst github.com/weirhq/weir%,.%/*_test.go,$(RACE)) 2>/dev/null)))
# The race detector needs cgo and a C compiler. pebblegozstd is zstd in Go instead of a C library that takes half a minute to compile.
RACING  := $(if $(filter 1,$(shell $(GO) env CGO_ENABLED)),-race -tags pebblegozstd)
# Tests that mostly wait, for servers to fail over and leases to run out, begin first, beside others.
WAITING := ./internal/fleet ./internal/alerttest
# Packages whose benchmarks carry a published figure; those that are there.
BENCH   ?= $(patsubst %,./%/,$(wildcard engine internal/partition internal/sched internal/limit internal/block internal/source store/pebblestore store/redisstore))

.DEFAULT_GOAL := help
.PHONY: help deps test check fmt lint examples bench sim plots fuzz cross vuln tools

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

deps: ## install what the tests need besides Go, if it is missing: redis-server, postgresql, chromium
	@sh tools/deps.sh

test: deps test-plain test-race test-more ## run all tests; starts and cleans up whatever they need

.PHONY: test-plain test-race test-more
test-plain:
	@echo "== tests of what has no goroutines, and whole stories (limit $(TIMEOUT))"
	CGO_ENABLED=0 $(GO) test -p 3 -vet=all -timeout $(TIMEOUT) $(WAITING) $(PLAIN)

test-race:
	@echo "== tests of packages with goroutines$(if $(RACING),, (without the race detector: it needs a C compiler))"
	$(GO) test -p 3 -vet=all -timeout $(TIMEOUT) $(RACING) -skip '$(LONG)' ./store/redisstore $(RACE)
	CGO_ENABLED=0 $(GO) test -p 3 -vet=off -timeout $(TIMEOUT) -run '$(LONG)' $(LONGIN)

test-more:
	@echo "== plots"
	$(GO) test -C tools/plots -timeout $(TIMEOUT) ./...
	@echo "== a client that another project's generator makes from the served OpenAPI document"
	$(GO) test -C tools/apiclient -timeout $(TIMEOUT) ./...
	@echo "== deliberate bugs, which the simulation has to find"
	CGO_ENABLED=0 $(GO) test -timeout $(TIMEOUT) -tags planted -run Planted ./internal/sim

check: lint examples ## what a change must pass besides make test

fmt: ## format every Go file
	$(TOOL) golangci-lint fmt

lint: ## golangci-lint: format, go vet, staticcheck and more; see .golangci.yml
	@echo "== lint"
	$(TOOL) golangci-lint run

examples: ## build every example and run those in the documentation
	@echo "== examples"
	@if [ -d examples ]; then $(GO) vet ./examples/...; fi
	$(GO) test -count=1 -run '^Example' ./...

bench: deps ## the benchmarks behind the published figures
	@echo "== benchmarks"
	$(GO) test -run '^$$' -bench . -benchmem -timeout 30m $(BENCH)
	@if [ -d internal/bench ]; then $(GO) run ./internal/bench; fi

sim: ## simulate SEEDS worlds with faults, or replay one: make sim SEED=42
	@echo "== simulation"
	$(GO) test ./internal/sim -count=1 -timeout 60m $(if $(SEED),-v -seed=$(SEED),-seeds=$(SEEDS))

plots: ## draw docs/plots anew from the core; a module of its own, tools/plots
	$(GO) run -C tools/plots .

fuzz: ## every fuzz target, FUZZ long each
	@grep -rlE '^func Fuzz[A-Z]' --include='*_test.go' . | xargs -r -n1 dirname | sort -u | while read -r dir; do \
		for target in $$(grep -rhoE '^func Fuzz[A-Za-z0-9_]+' $$dir/*_test.go | cut -d' ' -f2); do \
			echo "== $$target in $$dir"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZ) $$dir || exit 1; \
		done; \
	done

cross: ## build the program for CROSS; CI only type-checks for other systems, a cold build takes two minutes each
	@for system in $(CROSS); do \
		echo "== $$system"; \
		GOOS=$${system%/*} GOARCH=$${system#*/} CGO_ENABLED=0 $(GO) build -o /dev/null ./cmd/weir || exit 1; \
	done

vuln: ## known vulnerabilities in what we depend on; needs the network
	$(TOOL) govulncheck ./...

tools: ## build the pinned tools now instead of on first use
	$(TOOL) golangci-lint version
	$(TOOL) govulncheck -version
