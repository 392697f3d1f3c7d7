#!/bin/bash
# Builds the Ollama server that the end-to-end tests talk to and prints where
# it is:
#
#	OLLAMA_BIN=$(internal/dev/e2e/ollama/build.sh) go test ./pkg/models/ollama
#
# It needs go, gcc and g++ and the Go module proxy, nothing else. The first
# build takes five to ten minutes on two cores; the result is kept under
# ${ADROIT_CACHE:-$HOME/.cache/adroit} by what it was built from.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

version=$(sed -n 's#^\tgithub.com/ollama/ollama v\([^ ]*\).*#\1#p' go.mod)
# Vector instructions make its models several times faster; built on one machine,
# the program need not run on another one, so the key names them.
vector=
case $(go env GOARCH)$(sed -n '/^flags/{p;q}' /proc/cpuinfo 2>/dev/null) in
amd64*\ fma\ *\ f16c\ *\ avx2\ *) vector=' -mavx2 -mfma -mf16c' ;;
esac
key=$({ cat go.sum build.sh; echo "$vector"; } | sha256sum | cut -c1-16)
cache=${ADROIT_CACHE:-$HOME/.cache/adroit}
bin=$cache/ollama-v$version-$key-$(go env GOOS)-$(go env GOARCH)
if [ -x "$bin" ]; then
	echo "$bin"
	exit
fi

# Module zips leave out directories named vendor, and with them four C
# headers. Three come from the zips of other modules, which the checksum
# database vouches for like any other; the fourth is one line.
folder() { go mod download -json "$1" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p'; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/nlohmann" "$work/stb" "$work/miniaudio" "$cache"
older=$(folder github.com/ollama/ollama@v0.6.5)/llama/llama.cpp/common
ln -s "$older/json.hpp" "$work/nlohmann/json.hpp"
ln -s "$older/stb_image.h" "$work/stb/stb_image.h"
ln -s "$(folder github.com/gen2brain/malgo@v0.11.24)/miniaudio.h" "$work/miniaudio/miniaudio.h"
printf '#include "json.hpp"\n' >"$work/nlohmann/json_fwd.hpp"

# Unlike CGO_CXXFLAGS, this variable is not part of Go's build cache key, so
# a new temporary directory does not throw away what is already compiled.
export CPLUS_INCLUDE_PATH=$work
export CGO_CFLAGS="-O2$vector" CGO_CXXFLAGS="-O2$vector" # and nothing to debug it with
CGO_ENABLED=1 go build -trimpath \
	-ldflags="-s -w -X github.com/ollama/ollama/version.Version=$version" \
	-o "$work/ollama" github.com/ollama/ollama 1>&2

# Two builds may race; a rename leaves one whole file either way.
mv "$work/ollama" "$bin.$$"
mv "$bin.$$" "$bin"
echo "$bin"
