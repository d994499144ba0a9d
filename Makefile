# Every target works on a fresh clone; see README.md. STATICCHECK is pinned and enters no go.mod.
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
MODULES     := . client

.PHONY: help run build test race lint mutants crash bench

help: ## Show the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: ## Serve on the embedded default
	go run ./cmd/reprise serve

build: ## Build bin/reprise
	go build -o bin/reprise ./cmd/reprise

test: ## Test all modules with the race detector; REPRISE_REQUIRE_POSTGRES=1 makes a missing Postgres a failure
	@set -e; for m in $(MODULES); do echo "== $$m"; (cd $$m && go test -race -timeout 15m ./...); done
	@go test -count=1 -v -run '^TestPostgresIsThere$$' ./storage/storagetest/pgtest | grep -A4 '^pgtest: SKIPPING' || true

race: test ## The same: tests always run with the race detector

lint: ## gofmt, go vet and staticcheck in all modules
	@bad=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$bad" ]; then echo "gofmt would change:"; echo "$$bad"; exit 1; fi
	@set -e; for m in $(MODULES); do echo "== $$m"; (cd $$m && go vet ./... && go run $(STATICCHECK) ./...); done

mutants: ## Break the code in known ways, one at a time: the tests must fail each time (some 35 minutes)
	go run ./mutants

crash: ## Kill the service and Postgres under load, and compare with what was acknowledged (some 6 minutes)
	go run ./crash

bench: ## Pairs a second beside plain statements, and what waiting costs, on a quiet machine (some 4 minutes)
	go run ./bench baseline
	go run ./bench waiting
	go run ./bench search
