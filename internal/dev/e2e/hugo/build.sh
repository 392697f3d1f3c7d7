#!/bin/bash
# Builds the Hugo that the end-to-end tests drive and prints where it is:
#
#	HUGO_BIN=$(internal/dev/e2e/hugo/build.sh) go test ./cmd/adroit
#
# It needs go and the Go module proxy. The result is kept under
# ${ADROIT_CACHE:-$HOME/.cache/adroit} by what it was built from.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

version=$(sed -n 's#.*github.com/gohugoio/hugo v\([^ ]*\).*#\1#p' go.mod | head -n 1)
key=$(cat go.sum build.sh | sha256sum | cut -c1-16)
cache=${ADROIT_CACHE:-$HOME/.cache/adroit}
dir=$cache/hugo-v$version-$key-$(go env GOOS)-$(go env GOARCH)
if [ ! -x "$dir/hugo" ]; then
	mkdir -p "$cache"
	work=$(mktemp -d "$cache/building-XXXXXX")
	trap 'rm -rf "$work"' EXIT
	go build -trimpath -ldflags="-s -w" -o "$work/hugo" github.com/gohugoio/hugo 1>&2
	# Two builds may race; a rename leaves one whole file either way.
	mkdir -p "$dir"
	mv "$work/hugo" "$dir/hugo"
fi
echo "$dir/hugo"
