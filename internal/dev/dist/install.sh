#!/bin/sh
# Installs adroit {{version}}: downloads the archive for this machine, verifies its checksum, and
# puts the program into ~/.local/bin.
#
#   ADROIT_BIN   another directory for the program
#   ADROIT_FROM  where the release lies, an address or file:///DIRECTORY
#
# Nothing else is changed: no shell profile, no configuration.
set -eu

version={{version}}
from=${ADROIT_FROM:-https://github.com/adroit-run/adroit/releases/download/$version}
bin=${ADROIT_BIN:-$HOME/.local/bin}

fail() {
	echo "install.sh: $*" >&2
	exit 1
}

case $(uname -s) in
Linux) os=linux ;;
Darwin) os=darwin ;;
*) fail "there is no program for $(uname -s); on Windows use WSL 2" ;;
esac
case $(uname -m) in
x86_64 | amd64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*) fail "there is no program for $(uname -m)" ;;
esac
name=adroit-$version-$os-$arch

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

get() {
	case $from in
	file://*) cp "${from#file://}/$1" "$dir/$1" ;;
	https://*)
		if command -v curl >/dev/null; then
			curl -fsSL --proto '=https' -o "$dir/$1" "$from/$1"
		elif command -v wget >/dev/null; then
			wget -q -O "$dir/$1" "$from/$1"
		else
			fail "neither curl nor wget is installed"
		fi
		;;
	*) fail "ADROIT_FROM is neither https:// nor file://" ;;
	esac || fail "$from/$1 cannot be had"
}

get SHA256SUMS
get "$name.tar.gz"
grep "  $name.tar.gz\$" "$dir/SHA256SUMS" >"$dir/sum" || fail "SHA256SUMS does not list $name.tar.gz"
if command -v sha256sum >/dev/null; then
	verify="sha256sum -c"
elif command -v shasum >/dev/null; then
	verify="shasum -a 256 -c"
else
	fail "neither sha256sum nor shasum is installed, so the archive cannot be verified"
fi
(cd "$dir" && $verify sum >/dev/null 2>&1) || fail "the checksum of $name.tar.gz is wrong: nothing was installed"

tar -xzf "$dir/$name.tar.gz" -C "$dir"
mkdir -p "$bin"
cp "$dir/$name/adroit" "$bin/.adroit.new"
chmod 755 "$bin/.adroit.new"
mv -f "$bin/.adroit.new" "$bin/adroit"
echo "installed $("$bin/adroit" version) in $bin"
case ":$PATH:" in
*":$bin:"*) ;;
*) echo "to run it as adroit, here and in your shell's profile: export PATH=\"$bin:\$PATH\"" ;;
esac
