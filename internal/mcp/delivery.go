package mcp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Codes of errors that a server answers with before it calls a tool. Those for bad
// arguments and for faults inside it, come after, too.
const (
	codeParse          = "-32700"
	codeInvalidRequest = "-32600"
	codeNoMethod       = "-32601"
)

// A delivery records how far a call and its answer got.
type delivery struct {
	sent       bool   // some of it may have reached the server
	status     int    // of an answer over HTTP; 0 for none
	failed     bool   // the server answered with an error
	code       string // of that error, if it has one
	nameless   bool   // it does not say what the error is an answer to
	answer     string // what the server said to it, if it is no result
	unreadable bool   // it has answered, and nobody knows what
	fault      string // why its answer was left

	structured json.RawMessage // what the library reads with numbers of 53 bits
}

// refusing are the statuses of requests that were refused rather than begun: those for
// timeouts and for faults of servers behind the one that answers are not.
var refusing = []int{
	http.StatusBadRequest, http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed,
	http.StatusNotAcceptable, http.StatusProxyAuthRequired, http.StatusGone, http.StatusLengthRequired, http.StatusPreconditionFailed,
	http.StatusRequestEntityTooLarge, http.StatusRequestURITooLong, http.StatusUnsupportedMediaType, http.StatusMisdirectedRequest, http.StatusUpgradeRequired,
	http.StatusPreconditionRequired, http.StatusTooManyRequests, http.StatusRequestHeaderFieldsTooLarge, http.StatusUnavailableForLegalReasons,
}

// undone reports whether it is certain that the call was not begun.
func (d delivery) undone() bool {
	switch {
	case !d.sent:
		return true
	case d.status != 0 && (d.status < 200 || d.status > 299):
		return slices.Contains(refusing, d.status)
	}
	return !d.nameless && (d.code == codeParse || d.code == codeInvalidRequest || d.code == codeNoMethod)
}

// forgotten reports whether a server may have refused a request since it does not know the session
// any more: by 404, as the protocol has it, or by 400, as others do that answer no request by it.
func (d delivery) forgotten() bool {
	return d.status == http.StatusNotFound || d.status == http.StatusBadRequest && !d.failed
}

// words describes what the server did, as the end of a sentence, or "" if that is unknown.
func (d delivery) words() string {
	said := ""
	if answer := line(d.answer); answer != "" {
		said = ": " + answer
	}
	switch {
	case d.fault != "":
		return d.fault
	case d.status != 0 && (d.status < 200 || d.status > 299):
		return fmt.Sprintf("answered with the status %d %s%s", d.status, http.StatusText(d.status), said)
	case d.code != "" && d.code != "0":
		return "answered with the error " + line(d.code) + said
	case d.failed:
		return "answered with an error" + cmp.Or(said, " without words")
	case d.answer != "":
		return "answered with something that is no message" + said
	}
	return ""
}

// note updates the delivery of a call, if the request is one.
func (q request) note(change func(*delivery)) {
	if q.call == nil {
		return
	}
	q.call.mu.Lock()
	defer q.call.mu.Unlock()
	change(&q.call.way)
}

func (o *openCall) delivery() delivery {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.way
}

// fetchers maps programs that download what they run to the subcommands that make them do so; ""
// for programs that do nothing else.
var fetchers = map[string][]string{
	"npx": {""}, "bunx": {""}, "uvx": {""}, "pnpx": {""}, "npm": {"exec", "x"}, "pnpm": {"dlx"}, "yarn": {"dlx"}, "bun": {"x"}, "pipx": {"run"}, "uv": {"run", "tool"}, "deno": {"run"},
}

// Fetches returns the program that a server's command begins with if it downloads what it runs, or
// "".
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

// fetchTime bounds the start of a server whose program is downloaded first.
const fetchTime = 2 * time.Minute

// limits returns the time that a server may take to answer when it is probed, and in all.
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
