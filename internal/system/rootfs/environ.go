package rootfs

import (
	"net/url"
	"slices"
	"strings"
)

// allowedEnv is what a command may know of our environment. Everything else,
// keys and tokens above all, stays here.
var allowedEnv = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR",
	"XDG_CACHE_HOME", "SSL_CERT_FILE", "SSL_CERT_DIR",
	"GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "EMAIL", // who commits
	"GOROOT", "GOPATH", "GOCACHE", "GOMODCACHE", "GOFLAGS", "GOPROXY", "GOSUMDB", "GONOSUMDB", "GOPRIVATE", "GONOPROXY", "GORACE",
	"JAVA_HOME", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "VIRTUAL_ENV", "CONDA_PREFIX", "NVM_DIR", "PNPM_HOME",
}

// fixedEnv keeps commands from waiting for a person or fetching tools.
var fixedEnv = []string{
	"TERM=dumb", "NO_COLOR=1", "CI=1", "PAGER=cat", "GIT_PAGER=cat", "MANPAGER=cat",
	"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=false", "SSH_ASKPASS=false", "SSH_ASKPASS_REQUIRE=never",
	"EDITOR=false", "VISUAL=false", "GIT_EDITOR=false", "GIT_SEQUENCE_EDITOR=false",
	"DEBIAN_FRONTEND=noninteractive", "GOTOOLCHAIN=local", "VIMINIT=" + vimEnds,
}

// vimEnds ends a vim that has done all its commands and waits for keys. At the
// end of its input vim reads what it prints to, as a terminal would allow, and of
// a pipe nothing ever comes. With -es, or settings of its own, it does not look
// here. Neovim without a terminal is mostly a test that runs for long.
const vimEnds = `exe has("timers")&&!has("nvim")?"au VimEnter * call timer_start(1000,{->` +
	`[writefile(['nobody is at a terminal here: edit with the tools for it, or give vim all its commands by -es -c'],'/dev/stderr'),execute('cquit')]})":""`

// Environ is the environment of a command: what is allowed of host, what keeps
// it from asking questions, and extra, which wins. It is sorted.
func Environ(host, extra []string) []string {
	vars := map[string]string{}
	for _, kv := range host {
		key, value, _ := strings.Cut(kv, "=")
		if slices.Contains(allowedEnv, key) || strings.HasPrefix(key, "LC_") {
			if !hasPassword(value) {
				vars[key] = value
			}
		}
	}
	for _, kv := range slices.Concat(fixedEnv, extra) {
		if key, value, ok := strings.Cut(kv, "="); ok && key != "" {
			vars[key] = value
		}
	}
	env := make([]string, 0, len(vars))
	for key, value := range vars {
		env = append(env, key+"="+value)
	}
	slices.Sort(env)
	return env
}

// hasPassword finds the password in a list of addresses such as GOPROXY's.
func hasPassword(value string) bool {
	for part := range strings.FieldsFuncSeq(value, func(r rune) bool { return r == ',' || r == '|' || r == ' ' }) {
		if u, err := url.Parse(part); err == nil && u.Scheme != "" && u.User != nil {
			return true
		}
	}
	return false
}
