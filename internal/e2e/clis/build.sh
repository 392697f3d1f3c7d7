#!/bin/bash
# Installs the command-line agents that the end-to-end tests drive and prints
# the directory of their programs:
#
#	CLIS=$(internal/e2e/clis/build.sh) go test ./internal/e2e/clis
#
# It needs node, npm and a package registry, and Linux on x64;
# package-lock.json says by hash what is taken, and nothing of it is run to
# install it. The result is kept under ${ADROIT_CACHE:-$HOME/.cache/adroit} by
# what it was made from. It takes a gigabyte.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

key=$(cat package.json package-lock.json build.sh | sha256sum | cut -c1-16)
cache=${ADROIT_CACHE:-$HOME/.cache/adroit}
dir=$cache/clis-$key
if [ ! -x "$dir/bin/codex" ]; then
	mkdir -p "$cache"
	work=$(mktemp -d "$cache/installing-XXXXXX")
	trap 'rm -rf "$work"' EXIT
	cp package.json package-lock.json "$work"
	npm ci --prefix "$work" --ignore-scripts --no-audit --no-fund --loglevel=error 1>&2
	mkdir "$work/bin"
	ln -s ../node_modules/.bin/codex "$work/bin/codex"
	ln -s ../node_modules/.bin/gemini "$work/bin/gemini"
	# What npm links for these two is made by the script that was not run.
	ln -s ../node_modules/@anthropic-ai/claude-code-linux-x64/claude "$work/bin/claude"
	ln -s ../node_modules/opencode-linux-x64/bin/opencode "$work/bin/opencode"
	chmod 755 "$work"
	# Two installs may race; the one that comes second is thrown away.
	mv -T "$work" "$dir" 2>/dev/null || [ -x "$dir/bin/codex" ]
fi
echo "$dir/bin"
