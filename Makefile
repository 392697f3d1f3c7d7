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

.PHONY: help build dist cross check fmt vet lint tidy docs test short kill power exhaust edits permit e2e bench noise count undo streams flips habits clean

help: ## list the targets
	@sed -n 's/^\([a-z0-9]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

build: ## build bin/adroit
	$(GO) build -trimpath -ldflags "-s -w" -o bin/adroit ./cmd/adroit

dist: ## write archives of all platforms, with checksums, SBOM, man pages and completions, to dist/
	$(GO) run ./internal/dev/dist

cross: ## what vet does, for the platforms that CI cannot run too
	$(GO) run ./internal/dev/lint/vet linux/amd64 linux/arm64 darwin/amd64 darwin/arm64

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

kill: ## kill jobs at every point, where test kills at a sample; worth a night
	ADROIT_KILL_POINTS=all $(GO) test -count 1 -timeout 60m -v -run 'Kill|Served' ./cmd/adroit ./internal/dev/realrepo ./internal/git/worktree ./internal/work/process

power: ## cut the power of every kind of job at every point, where test cuts three; takes root on Linux, and hours
	ADROIT_KILL_POINTS=all $(GO) test -count 1 -timeout 240m -v -run '^TestPower$$' ./cmd/adroit

exhaust: ## 1,000 agents at 1,024 descriptors and 20 processes on a full disk, where test runs 100 and 4; takes root on Linux
	ADROIT_AGENTS=1000 $(GO) test -count 1 -timeout 40m -v -run '^TestManyAgents$$' ./pkg/adroit
	ADROIT_KILL_POINTS=all $(GO) test -count 1 -timeout 40m -v -run '^TestFullData$$' ./cmd/adroit

edits: ## edits from real commits by the thousand, where test makes a sample; figures go to docs/dev/edits.md
	ADROIT_EDIT_COMMITS=150 $(GO) test -count 1 -timeout 120m -v -run TestCommits ./internal/tools/edit -update

permit: ## run what 40,000 generated pairs of rules and scripts allow, where test runs a sample
	ADROIT_PERMIT_PAIRS=40000 $(GO) test -count 1 -timeout 60m -v -run 'TestAllowedRunsNothingElse|TestBuiltinsEvaluateNothing' ./pkg/guard/permit

undo: ## 2,000 interleavings of jobs and a person, 2,000 patches and 1,000 jobs that hide what they do from git, where test tries a sample
	ADROIT_UNDO_RUNS=2000 $(GO) test -count 1 -timeout 60m -v -run "TestUndoLeavesThePersonsWork|TestPatchIsWhole" ./internal/work/ledger
	ADROIT_UNDO_ROUNDS=1000 $(GO) test -count 1 -timeout 60m -run "TestUndoIsTrue|TestUndoMovesReferences" ./internal/work/process

streams: ## 60,000 drawn answers in every form that servers send, where test draws a sample
	ADROIT_STREAMS=60000 $(GO) test -count 1 -timeout 60m -v -run TestAnswersInEveryForm ./internal/calling/transport

e2e: ## all tests, with a real Ollama server (built once, then cached)
	OLLAMA_BIN=$$(internal/dev/e2e/ollama/build.sh) $(MAKE) --no-print-directory test

flips: ## change a workspace during 2,000 commands at each level and with overlays; an hour
	ADROIT_FLIPS=2000 $(GO) test ./internal/work/process -run '^TestFlips' -v -timeout 3h

bench: ## benchmarks; see docs/dev/performance.md
	$(GO) test -run '^$$' -bench . -benchtime 1x ./internal/dev/bench ./pkg/jobs/sqlite
	ADROIT_BENCH=full $(GO) test -count 1 -timeout 30m -run 'TestLongJob|TestNothingLost' ./internal/dev/bench

habits: ## a weak model with each of 70 habits, in each mode on each wire; writes docs/dev/habits.md
	ADROIT_HABITS=all $(GO) test -count 1 -timeout 30m ./internal/dev/habits -update

noise: ## an hour of a random model under grammars, on a real Ollama server
	OLLAMA_BIN=$$(internal/dev/e2e/ollama/build.sh) ADROIT_RANDOM=1h $(GO) test -count 1 -timeout 70m -v -run TestRandomModel ./pkg/models/ollama

count: ## lines of Go outside tests, and exported names, for each package
	@$(GO) run ./internal/dev/apisnapshot

clean: ## remove what make build made
	rm -rf bin
