#!/bin/bash
# Builds the gopls that the end-to-end tests talk to and prints where it is:
#
#	GOPLS_BIN=$(internal/dev/e2e/gopls/build.sh) go test ./internal/lsp
#
# It needs go and the Go module proxy. The result is kept under
# ${ADROIT_CACHE:-$HOME/.cache/adroit} by what it was built from.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

version=$(sed -n 's#.*golang.org/x/tools/gopls v\([^ ]*\).*#\1#p' go.mod | head -n 1)
key=$(cat go.sum build.sh | sha256sum | cut -c1-16)
cache=${ADROIT_CACHE:-$HOME/.cache/adroit}
dir=$cache/gopls-v$version-$key-$(go env GOOS)-$(go env GOARCH)
if [ ! -x "$dir/gopls" ]; then
	mkdir -p "$cache"
	work=$(mktemp -d "$cache/building-XXXXXX")
	trap 'rm -rf "$work"' EXIT
	go build -trimpath -ldflags="-s -w" -o "$work/gopls" golang.org/x/tools/gopls 1>&2
	# Two builds may race; a rename leaves one whole file either way.
	mkdir -p "$dir"
	mv "$work/gopls" "$dir/gopls"
fi
echo "$dir/gopls"
