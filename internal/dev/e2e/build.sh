#!/bin/bash
# Builds the program that go.mod in a directory beside this script names as its tool, and prints where it is:
#
#	GH_BIN=$(internal/dev/e2e/build.sh gh) go test ./pkg/parts/internal/github ./cmd/adroit
#	GOPLS_BIN=$(internal/dev/e2e/build.sh gopls) go test ./internal/lsp
#	HUGO_BIN=$(internal/dev/e2e/build.sh hugo) go test ./cmd/adroit
#	TEMPORAL_BIN=$(internal/dev/e2e/build.sh temporal) go test -C pkg/temporal ./...
#
# It needs go and the Go module proxy, and ten minutes of one core for temporal. The result
# is kept under ${ADROIT_CACHE:-$HOME/.cache/adroit} by what it was built from.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
script=$PWD/build.sh
cd "$1"

key=$(cat go.mod go.sum "$script" | sha256sum | cut -c1-16)
cache=${ADROIT_CACHE:-$HOME/.cache/adroit}
dir=$cache/$1-$key-$(go env GOOS)-$(go env GOARCH)
if [ ! -x "$dir/$1" ]; then
	mkdir -p "$cache"
	work=$(mktemp -d "$cache/building-XXXXXX")
	trap 'rm -rf "$work"' EXIT
	go build -trimpath -ldflags="-s -w" -o "$work/" tool 1>&2
	# Two builds may race; a rename leaves one whole file either way.
	mkdir -p "$dir"
	mv "$work/$1" "$dir/$1"
fi
echo "$dir/$1"
