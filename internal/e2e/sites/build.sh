#!/bin/bash
# Installs Astro and Eleventy and prints the directory where they are, for the tests
# that compare addresses of posts:
#
#	SITE_GENERATORS=$(internal/e2e/sites/build.sh) go test ./internal/tools/internal/site
#
# It needs node, npm and a package registry; package-lock.json says by hash
# what is taken, and nothing of it is run to install it. The result is kept
# under ${ADROIT_CACHE:-$HOME/.cache/adroit} by what it was made from.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

key=$(cat package.json package-lock.json build.sh | sha256sum | cut -c1-16)
cache=${ADROIT_CACHE:-$HOME/.cache/adroit}
dir=$cache/sites-$key
if [ ! -d "$dir/node_modules/astro" ]; then
	mkdir -p "$cache"
	work=$(mktemp -d "$cache/installing-XXXXXX")
	trap 'rm -rf "$work"' EXIT
	cp package.json package-lock.json "$work"
	npm ci --prefix "$work" --ignore-scripts --no-audit --no-fund --loglevel=error 1>&2
	chmod 755 "$work"
	# Two installs may race; the one that comes second is thrown away.
	mv -T "$work" "$dir" 2>/dev/null || [ -d "$dir/node_modules/astro" ]
fi
echo "$dir"
