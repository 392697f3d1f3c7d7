package mcp

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// fetchers are programs that download what they run, by name and the word behind it that
// has them do so; "" where they do nothing else.
var fetchers = map[string][]string{
	"npx": {""}, "bunx": {""}, "uvx": {""}, "pnpx": {""}, "npm": {"exec", "x"}, "pnpm": {"dlx"}, "yarn": {"dlx"}, "bun": {"x"}, "pipx": {"run"}, "uv": {"run", "tool"}, "deno": {"run"},
}

// Fetches is the program that a server's command begins with, if it is one that downloads
// what it runs, else "".
func (s Server) Fetches() string {
	words := slices.Concat(s.Command, s.Args)
	if len(words) == 1 { // a command line as some write it
		words = strings.Fields(words[0])
	}
	if len(words) == 0 || slices.Contains(words, "--offline") {
		return ""
	}
	program := filepath.Base(words[0])
	for _, sub := range fetchers[program] {
		if sub == "" || len(words) > 1 && words[1] == sub {
			return program
		}
	}
	return ""
}

// fetchTime is how long a server may take to start whose program is downloaded first.
const fetchTime = 2 * time.Minute

// limits are how long a server may take to answer when it is probed, and in all.
func (s Server) limits() (probe, connect time.Duration) {
	if s.Fetches() != "" {
		limit := cmp.Or(s.StartTimeout, max(fetchTime, connectTime))
		return limit, limit // it is not killed while it downloads
	}
	connect = cmp.Or(s.StartTimeout, connectTime)
	return min(probeTime, connect), connect
}

// cached has the programs that download keep that below one directory.
func cached(dir string) []string {
	at := func(name string) string { return filepath.Join(dir, name) }
	return []string{
		"XDG_CACHE_HOME=" + dir, "npm_config_cache=" + at("npm"), "npm_config_update_notifier=false", "npm_config_prefer_offline=true", "BUN_INSTALL_CACHE_DIR=" + at("bun"),
		"DENO_DIR=" + at("deno"), "PIPX_HOME=" + at("pipx"), "UV_CACHE_DIR=" + at("uv"), "UV_TOOL_DIR=" + at("uv-tools"), "YARN_CACHE_FOLDER=" + at("yarn"), "PNPM_HOME=" + at("pnpm"),
	}
}

// certificates are the variables that name those which programs with the network trust.
var certificates = []string{"NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"}
