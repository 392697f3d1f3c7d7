#!/bin/bash
# Installs from npm what a directory beside this script lists, and prints where it is:
#
#	CLIS=$(internal/dev/e2e/install.sh clis) go test ./internal/dev/e2e/clis
#	LANGUAGE_SERVERS=$(internal/dev/e2e/install.sh servers)/node_modules/.bin go test ./internal/lsp
#	MERMAID=$(internal/dev/e2e/install.sh mermaid) go test ./pkg/cli/internal/show -run Mermaid
#	MCP_SERVERS=$(internal/dev/e2e/install.sh mcp) go test ./cmd/adroit -run MCP
#	MCP_CONFORMANCE=$(internal/dev/e2e/install.sh mcp/conformance) go test ./internal/mcp -run Conformance
#	OPENAPI=$(internal/dev/e2e/install.sh openapi) go test ./cmd/adroit -run OpenAPI
#	ACP_CLIENT=$(internal/dev/e2e/install.sh acp) go test ./cmd/adroit -run ACPPeer
#	SITE_GENERATORS=$(internal/dev/e2e/install.sh sites) go test ./pkg/parts/internal/shared/site
#
# It needs node, npm and a package registry; package-lock.json says by hash
# what is taken, and nothing of it is run to install it. The result is kept
# under ${ADROIT_CACHE:-$HOME/.cache/adroit} by what it was made from. clis, for
# Linux on x64 only, takes a gigabyte.
set -euo pipefail
shopt -s nullglob
cd "$(dirname "${BASH_SOURCE[0]}")"
script=$PWD/install.sh
cd "$1"

files=(package.json package-lock.json *.mjs)
key=$(cat "${files[@]}" "$script" | sha256sum | cut -c1-16)
cache=${ADROIT_CACHE:-$HOME/.cache/adroit}
dir=$cache/${1//\//-}-$key
if [ ! -d "$dir" ]; then
	mkdir -p "$cache"
	work=$(mktemp -d "$cache/installing-XXXXXX")
	trap 'rm -rf "$work"' EXIT
	cp "${files[@]}" "$work"
	npm ci --prefix "$work" --ignore-scripts --no-audit --no-fund --loglevel=error 1>&2
	chmod 755 "$work"
	# Two installs may race; the one that comes second is thrown away.
	mv -T "$work" "$dir" 2>/dev/null || [ -d "$dir" ]
fi
echo "$dir"
