#!/bin/bash
# Installs MCP servers of other people and prints the directory where they are,
# for the tests that use them:
#
#	MCP_SERVERS=$(internal/e2e/mcp/build.sh) go test ./internal/mcp ./cmd/adroit -run MCP
#
# With the argument conformance it installs the conformance suite of the
# protocol, with the node that it needs:
#
#	MCP_CONFORMANCE=$(internal/e2e/mcp/build.sh conformance) go test ./internal/mcp -run Conformance
#
# It needs node, npm and a package registry; package-lock.json says by hash
# what is taken, and nothing of it is run to install it. The result is kept
# under ${ADROIT_CACHE:-$HOME/.cache/adroit} by what it was made from.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
build=$PWD/build.sh last=node_modules/@modelcontextprotocol/server-memory name=mcp
if [ "${1:-}" = conformance ]; then
	cd conformance
	last=node_modules/@modelcontextprotocol/conformance name=mcp-conformance
fi

key=$(cat package.json package-lock.json "$build" | sha256sum | cut -c1-16)
cache=${ADROIT_CACHE:-$HOME/.cache/adroit}
dir=$cache/$name-$key
if [ ! -d "$dir/$last" ]; then
	mkdir -p "$cache"
	work=$(mktemp -d "$cache/installing-XXXXXX")
	trap 'rm -rf "$work"' EXIT
	cp package.json package-lock.json "$work"
	npm ci --prefix "$work" --ignore-scripts --no-audit --no-fund --loglevel=error 1>&2
	chmod 755 "$work"
	# Two installs may race; the one that comes second is thrown away.
	mv -T "$work" "$dir" 2>/dev/null || [ -d "$dir/$last" ]
fi
echo "$dir"
