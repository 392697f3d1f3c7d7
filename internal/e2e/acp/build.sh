#!/bin/bash
# Installs the client library of the Agent Client Protocol and prints the directory
# of a client that uses it, for the test that drives adroit with it:
#
#	ACP_CLIENT=$(internal/e2e/acp/build.sh) go test ./cmd/adroit -run ACPPeer
#
# It needs node, npm and a package registry; package-lock.json says by hash
# what is taken, and nothing of it is run to install it. The result is kept
# under ${ADROIT_CACHE:-$HOME/.cache/adroit} by what it was made from.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

key=$(cat package.json package-lock.json build.sh client.mjs | sha256sum | cut -c1-16)
cache=${ADROIT_CACHE:-$HOME/.cache/adroit}
dir=$cache/acp-$key
if [ ! -d "$dir/node_modules/@agentclientprotocol/sdk" ]; then
	mkdir -p "$cache"
	work=$(mktemp -d "$cache/installing-XXXXXX")
	trap 'rm -rf "$work"' EXIT
	cp package.json package-lock.json client.mjs "$work"
	npm ci --prefix "$work" --ignore-scripts --no-audit --no-fund --loglevel=error 1>&2
	chmod 755 "$work"
	# Two installs may race; the one that comes second is thrown away.
	mv -T "$work" "$dir" 2>/dev/null || [ -d "$dir/node_modules/@agentclientprotocol/sdk" ]
fi
echo "$dir"
