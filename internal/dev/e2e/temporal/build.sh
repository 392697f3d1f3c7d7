#!/bin/bash
# Builds the Temporal server (for development, in one process) that the tests
# of pkg/temporal talk to and prints where it is:
#
#	cd pkg/temporal && TEMPORAL_BIN=$(../../internal/dev/e2e/temporal/build.sh) go test ./...
#
# It needs go and the Go module proxy, and ten minutes of one core. The result
# is kept under ${ADROIT_CACHE:-$HOME/.cache/adroit} by what it was built from.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

version=$(sed -n 's#.*github.com/temporalio/cli v\([^ ]*\).*#\1#p' go.mod | head -n 1)
key=$(cat go.sum build.sh | sha256sum | cut -c1-16)
cache=${ADROIT_CACHE:-$HOME/.cache/adroit}
dir=$cache/temporal-v$version-$key-$(go env GOOS)-$(go env GOARCH)
if [ ! -x "$dir/temporal" ]; then
	mkdir -p "$cache"
	work=$(mktemp -d "$cache/building-XXXXXX")
	trap 'rm -rf "$work"' EXIT
	go build -trimpath -ldflags="-s -w" -o "$work/temporal" github.com/temporalio/cli/cmd/temporal 1>&2
	# Two builds may race; a rename leaves one whole file either way.
	mkdir -p "$dir"
	mv "$work/temporal" "$dir/temporal"
fi
echo "$dir/temporal"
