#!/bin/bash
# Installs the language servers for TypeScript and Python that the end-to-end
# tests talk to and prints the directory of their programs:
#
#	LANGUAGE_SERVERS=$(internal/e2e/servers/build.sh) go test ./internal/lsp
#
# It needs node, npm and a package registry; package-lock.json says by hash
# what is taken, and nothing of it is run to install it. The result is kept
# under ${ADROIT_CACHE:-$HOME/.cache/adroit} by what it was made from.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

key=$(cat package.json package-lock.json build.sh | sha256sum | cut -c1-16)
cache=${ADROIT_CACHE:-$HOME/.cache/adroit}
dir=$cache/servers-$key
if [ ! -x "$dir/node_modules/.bin/pyright-langserver" ]; then
	mkdir -p "$cache"
	work=$(mktemp -d "$cache/installing-XXXXXX")
	trap 'rm -rf "$work"' EXIT
	cp package.json package-lock.json "$work"
	npm ci --prefix "$work" --ignore-scripts --no-audit --no-fund --omit=optional --loglevel=error 1>&2
	chmod 755 "$work"
	# Two installs may race; the one that comes second is thrown away.
	mv -T "$work" "$dir" 2>/dev/null || [ -x "$dir/node_modules/.bin/pyright-langserver" ]
fi
echo "$dir/node_modules/.bin"
