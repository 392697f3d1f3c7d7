#!/bin/bash
# Builds the gh that the end-to-end tests drive and prints where it is:
#
#	GH_BIN=$(internal/dev/e2e/gh/build.sh) go test ./pkg/parts/internal/github ./cmd/adroit
#
# It needs go and the Go module proxy. The result is kept under
# ${ADROIT_CACHE:-$HOME/.cache/adroit} by what it was built from.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

version=$(sed -n 's#.*github.com/cli/cli/v2 v\([^ ]*\).*#\1#p' go.mod | head -n 1)
key=$(cat go.sum build.sh | sha256sum | cut -c1-16)
cache=${ADROIT_CACHE:-$HOME/.cache/adroit}
dir=$cache/gh-v$version-$key-$(go env GOOS)-$(go env GOARCH)
if [ ! -x "$dir/gh" ]; then
	mkdir -p "$cache"
	work=$(mktemp -d "$cache/building-XXXXXX")
	trap 'rm -rf "$work"' EXIT
	go build -trimpath -ldflags="-s -w" -o "$work/gh" github.com/cli/cli/v2/cmd/gh 1>&2
	# Two builds may race; a rename leaves one whole file either way.
	mkdir -p "$dir"
	mv "$work/gh" "$dir/gh"
fi
echo "$dir/gh"
