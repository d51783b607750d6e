# Everything a contributor runs. Needs Go and a POSIX shell; the tools are
# pinned in tools/go.mod and built on first use.

GO      ?= go
TOOL    := $(GO) tool -modfile=tools/go.mod

# A whole run of the tests has to end within this time, or it says where it hangs.
TIMEOUT ?= 10m
# Seeds of make sim, and the one seed to replay: make sim SEED=42
SEEDS   ?= 20000
SEED    ?=
# How often make bench measures weir and its peers, in turns.
ROUNDS  ?= 5
# How long each fuzz target runs.
FUZZ    ?= 5s
# Test programs are linked without symbols for debuggers, which takes half as long; stack traces do not need them.
LINK    := -ldflags=-s
# Compiler and linker collect garbage only when they hold this much, which spares a fifth of their processor time. The
# tests themselves are not run with it, and what is built is the same, byte by byte.
BUILD   := -toolexec='env GOGC=off GOMEMLIMIT=2GiB'
# Systems of make cross.
CROSS   ?= linux/386 windows/amd64 darwin/arm64
# Packages whose tests CI also runs under the race detector: the engine, the stores, and what calls endpoints. To race
# the others, too (make race RACE=./...), takes four times as long. They run with -short, which makes a test
# smaller and never skips one. LONG names tests of theirs that play minutes of fake time, kill processes or go
# through every operation of a file system one by one, and repeat the conformance suite over other connections: what
# they use others race. The first package mostly waits.
RACE    ?= ./store/redisstore ./internal/engine/... ./report ./store/... ./internal/edge/execute
LONG    := Killed|RestoreThatDies|DamageOfAFile|StoppedCleanly|AtEveryFileOperation|DamageIsNeverSilent|IncidentDownstream|IsCutOffIs|RefusalsAtRandom|WorkersSetByHand|RollingRestart|LeadersDeath|RateIsLearned|HoursOfBackoff|EndlessLineCosts|KeysTakeAtMost|PoisonIsContained|InForceWhenTheChange|AfterAChangeOfEither|PausedResumedAndCancelled|SharedWorkEndsOnce|SharedWorkOutlives|SameHugeSubmit|CanaryRunsFirst|LargeItemsInUneven|DownstreamThatAsksForIt|MissingFilesAreNeverSilent|ManifestIsNeverSilent|ReduceAndRetryOfAShared|HugeBulkActionIsShared|CountsOfErrorGroups|NumberOfPartitionsChanges|TiersHoldOverNodes|FailureRuleCountsAllShards|OneKeyIsOneBulkActionWhile|LanesCountAShared|ConformanceOnACluster|ConformanceOnASentinelSet|ConformanceWithReplicas|ConformanceOnDiskInMemoryMode|AnyDraftHasTheItems
# Packages whose tests mostly wait, for servers to fail over and leases to run out: they begin first, beside others.
WAITING := ./store/redisstore ./internal/testkit/fleettest ./internal/testkit/alerttest
# Packages whose benchmarks carry a published figure; those that are there.
BENCH   ?= $(patsubst %,./%/,$(wildcard internal/engine report internal/core/partition internal/core/capacity internal/core/sched internal/core/limit internal/core/block internal/edge/source store/pebblestore store/redisstore))

# The image that make image builds.
IMAGE   ?= localhost/weir:dev
# Releases are made with these versions. They are no tools of tools/go.mod: few need them, and they bring hundreds of modules.
RELEASE := GOFLAGS=-mod=mod PATH="$$($(GO) env GOPATH)/bin:$$PATH" sh -c '$(GO) install github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.9.0 && exec $(GO) run github.com/goreleaser/goreleaser/v2@v2.18.2 "$$@"' goreleaser

.DEFAULT_GOAL := help
.PHONY: help deps test race check fmt lint examples bench peers sim plots fuzz cross vuln tools chart image release snapshot site generators

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

deps: ## install what the tests need besides Go, if it is missing: redis-server, postgresql, chromium, prometheus, python3
	@sh tools/deps.sh

# CGO_ENABLED=0 spares a C library for zstd that takes half a minute to compile.
test: deps ## run go vet and all tests; starts and cleans up whatever they need
	@echo "== the object store of the tests"
	@CGO_ENABLED=0 $(GO) tool -modfile=tools/versitygw/go.mod -n versitygw >/dev/null
	@echo "== all tests (limit $(TIMEOUT))"
	CGO_ENABLED=0 $(GO) test $(BUILD) $(LINK) -p 3 -vet=all -timeout $(TIMEOUT) $(WAITING) ./...
	@echo "== a client that another project's generator makes from the served OpenAPI document"
	CGO_ENABLED=0 $(GO) test -C tools/apiclient -count=1 $(BUILD) $(LINK) -timeout $(TIMEOUT) ./...
	@echo "== the pages in a browser"
	CGO_ENABLED=0 $(GO) test -C tools/webtest -count=1 $(BUILD) $(LINK) -timeout $(TIMEOUT) ./...
	@echo "== the documentation as a site, in a browser"
	CGO_ENABLED=0 $(GO) test -C tools/site -count=1 $(BUILD) $(LINK) -timeout $(TIMEOUT) ./...
	@echo "== the measurements of peers compile"
	CGO_ENABLED=0 $(GO) vet -C tools/peers .
	@echo "== deliberate bugs, which the simulation has to find"
	CGO_ENABLED=0 $(GO) run ./internal/lab/planted/run $(BUILD) $(LINK) -timeout $(TIMEOUT)

check: lint examples ## what a change must pass besides make test

fmt: ## format every Go file
	$(TOOL) golangci-lint fmt

lint: ## golangci-lint: format, go vet, staticcheck and more; see .golangci.yml
	@echo "== lint"
	$(TOOL) golangci-lint run

race: deps ## tests of the packages of RACE under the race detector
	@echo "== race"
	@if [ "$$($(GO) env CGO_ENABLED)" != 1 ]; then \
		echo "left out: the race detector needs a C compiler, and there is none"; \
	else \
		$(GO) test $(BUILD) $(LINK) -race -tags pebblegozstd -short -p 3 -vet=off -skip '$(LONG)' -timeout $(TIMEOUT) $(RACE); \
	fi

examples: ## build every example and run those in the documentation
	@echo "== examples"
	@if [ -d examples ]; then $(GO) vet ./examples/...; fi
	$(GO) test -count=1 -run '^Example' ./...

bench: peers ## the benchmarks behind the published figures
	@echo "== benchmarks"
	$(GO) test -run '^$$' -bench . -benchmem -timeout 30m $(BENCH)
	@if [ -d internal/lab/bench ]; then $(GO) run ./internal/lab/bench; fi

peers: deps ## measure NATS JetStream in turns with weir; ROUNDS of each
	@dir=$$(mktemp -d) && trap 'rm -r "$$dir"' EXIT && CGO_ENABLED=0 $(GO) build -o $$dir/bench ./internal/lab/bench && \
		CGO_ENABLED=0 $(GO) build -C tools/peers -o $$dir/peers . && $$dir/peers -weir $$dir/bench -rounds $(ROUNDS)

generators: ## lint the served OpenAPI document, generate clients with other projects' generators and run them; needs npm
	sh tools/generators/run.sh

sim: ## simulate SEEDS worlds with faults, or replay one: make sim SEED=42
	@echo "== simulation"
	$(GO) test ./internal/lab/sim -count=1 -timeout 60m $(if $(SEED),-v -seed=$(SEED),-seeds=$(SEEDS))

site: ## build the documentation as a static site in out/site; SITE_FLAGS=-external lists the addresses of other sites
	CGO_ENABLED=0 $(GO) run -C tools/site . -root $(CURDIR) -out $(CURDIR)/out/site $(SITE_FLAGS)

plots: ## draw docs/plots anew from the core
	$(GO) run ./internal/lab/plots

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

chart: ## render the Helm chart with Helm's engine, check the objects, start the program as they say; cold, three minutes of CPU time
	CGO_ENABLED=0 $(GO) test -C tools/chart -count=1 $(BUILD) $(LINK) -timeout $(TIMEOUT) ./...

image: ## build the container image IMAGE with buildah, without a daemon
	sh deploy/build-image.sh $(IMAGE)

release: ## make a release of the current tag, as a draft on GitHub; needs GITHUB_TOKEN
	$(RELEASE) release --clean

snapshot: ## make what a release has, without a tag, in dist/
	$(RELEASE) release --clean --snapshot
