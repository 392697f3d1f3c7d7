# make lists the targets; make check is what CI runs and what you run before
# you commit.
GO ?= go
# A program built with -race would sleep for a second before it exits.
export GORACE ?= atexit_sleep_ms=0
# What is compiled does not depend on where the tree lies: one clone uses what
# another one compiled.
export GOFLAGS ?= -trimpath -buildvcs=false
# The detector watches our code, and not SQLite, which is C made into Go with
# memory and locks of its own and takes four times as long under it.
RACE = -race -gcflags=modernc.org/sqlite/lib=-race=false -gcflags=modernc.org/libc/...=-race=false

.PHONY: help build dist cross check fmt vet lint tidy docs test short night kill power edits e2e temporal bench habits count clean

help: ## list the targets
	@sed -n 's/^\([a-z0-9]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

build: ## build bin/adroit
	$(GO) build -trimpath -ldflags "-s -w" -o bin/adroit ./cmd/adroit

dist: ## write a release to dist/: archives of all platforms, deb, rpm, OCI image, formula, install.sh, SBOM and checksums
	$(GO) run ./internal/dev/dist

cross: ## what vet does, for the platforms that CI cannot run too (darwin/amd64 is as darwin/arm64)
	$(GO) run ./internal/dev/lint/vet linux/amd64 linux/arm64 darwin/arm64

check: fmt vet lint tidy test ## everything that must hold before a commit

fmt: ## fail if gofmt would change a file
	@out=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$out" ]; then echo "gofmt would change:"; echo "$$out"; exit 1; fi

vet: ## what go vet, flowvet and the rule about written files find
	$(GO) run ./internal/dev/lint/vet

lint: ## staticcheck, pinned in internal/dev/lint/staticcheck
	GOGC=$${GOGC:-400} $(GO) tool -modfile=internal/dev/lint/staticcheck/go.mod staticcheck ./...

tidy: ## fail if go.mod or go.sum are not tidy
	$(GO) mod tidy -diff

docs: ## write the reference in docs/ from the code
	$(GO) test ./internal/dev/reference -update

test: ## all tests, with the race detector where there are goroutines; layers, goldens and generated files are tests too
	GO='$(GO)' RACE='$(RACE)' internal/dev/race/memory internal/dev/race/test

short: ## tests without the long ones
	$(GO) test -short ./...

night: ## every test whole, where test takes a sample by a seed; takes root on Linux, a real Ollama server as e2e does, and a night
	OLLAMA_BIN=$$(internal/dev/e2e/ollama/build.sh) ADROIT_NIGHT=1 $(GO) test -count 1 -timeout 12h -p 1 -v ./...

kill: ## of night, what kills jobs at every point; hours
	ADROIT_NIGHT=1 $(GO) test -count 1 -timeout 4h -v -run 'Kill|Served' ./cmd/adroit ./internal/dev/realrepo ./internal/git/worktree ./internal/work/process ./pkg/workflows

power: ## of night, what cuts the power of every kind of job at every point; takes root on Linux, and hours
	CI=1 ADROIT_NIGHT=1 $(GO) test -count 1 -timeout 6h -v -run '^TestPower$$' ./cmd/adroit

edits: ## edits from real commits by the thousand, where test makes a sample; figures go to docs/dev/edits.md
	ADROIT_NIGHT=1 $(GO) test -count 1 -timeout 120m -v -run TestCommits ./internal/builtin/edit -update

e2e: ## all tests, with a real Ollama server (built once, then cached)
	OLLAMA_BIN=$$(internal/dev/e2e/ollama/build.sh) $(MAKE) --no-print-directory test

temporal: ## jobs on a real Temporal server, with workers and servers that are killed (the server is built once, in ten minutes, then cached)
	cd pkg/temporal && export TEMPORAL_BIN=$$(../../internal/dev/e2e/build.sh temporal) && export ADROIT_NIGHT=1 && $(GO) test -count 1 -timeout 1h -parallel 4 ./... && \
		TEMPORAL_LONG=30 $(GO) test -count 1 -timeout 30m -run '^TestEngine$$' -skip '^TestEngine$$/thousand' .

bench: ## benchmarks, half an hour; writes docs/dev/performance.md
	{ date -u '+date: %Y-%m-%d, %H:%M'; git log -1 --format='commit: %h'; echo "load: $$(cut -d' ' -f1 /proc/loadavg)"; \
	$(GO) test -run '^$$' -bench . -benchtime 1x -count 3 -timeout 60m ./internal/dev/bench ./internal/work/process ./internal/work/ledger ./internal/git/worktree; } \
	>internal/dev/bench/testdata/measured.txt
	$(GO) test ./internal/dev/bench -count 1 -run TestPage -update
	ADROIT_NIGHT=1 $(GO) test -count 1 -timeout 30m -run 'TestLongJob|TestNothingLost' ./internal/dev/bench

habits: ## a weak model with each of 70 habits, in each mode on each wire; writes docs/dev/habits.md
	ADROIT_NIGHT=1 $(GO) test -count 1 -timeout 30m ./internal/dev/habits -update

count: ## lines of Go outside tests, and exported names, for each package
	@$(GO) run ./internal/dev/apisnapshot

clean: ## remove what make build made
	rm -rf bin
