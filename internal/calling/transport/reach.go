package transport

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

// proxyVariable returns the name and the value of the variable with the proxy for a scheme: its
// own, or else the one for all schemes. It reads the environment itself since the library does not
// know ALL_PROXY.
func proxyVariable(scheme string) (name, value string) {
	names := []string{"HTTP_PROXY", "ALL_PROXY"}
	if scheme == "https" {
		names[0] = "HTTPS_PROXY"
	}
	for _, n := range names {
		// A CGI program's HTTP_PROXY comes from the client's request.
		if v := strings.Trim(cmp.Or(os.Getenv(n), os.Getenv(strings.ToLower(n))), " \t\r\n\"'"); v != "" && (n != "HTTP_PROXY" || os.Getenv("REQUEST_METHOD") == "") {
			return n, v
		}
	}
	return "", ""
}

// proxyOf returns the proxy for an address, or nil.
func proxyOf(u *url.URL) (*url.URL, error) {
	name, value := proxyVariable(u.Scheme)
	if value == "" || direct(u, cmp.Or(os.Getenv("NO_PROXY"), os.Getenv("no_proxy"))) {
		return nil, nil
	}
	if !strings.Contains(value, "://") {
		value = "http://" + value
	}
	p, err := url.Parse(value)
	if err != nil || p.Host == "" || !slices.Contains([]string{"http", "https", "socks5", "socks5h"}, p.Scheme) {
		return nil, errors.New(name + " is no address of a proxy, as http://HOST:PORT or socks5://HOST:PORT is; correct it or unset it") // it may hold a password
	}
	return p, nil
}

// direct reports whether an address is reached without a proxy: it is on this machine, or in list,
// which has names, including those below them, addresses and their ranges.
func direct(u *url.URL, list string) bool {
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	ip, err := netip.ParseAddr(host)
	if host == "localhost" || err == nil && ip.IsLoopback() {
		return true
	}
	for _, entry := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' }) {
		entry = strings.ToLower(entry)
		if h, port, err := net.SplitHostPort(entry); err == nil {
			if port != u.Port() {
				continue
			}
			entry = h
		}
		if in, err := netip.ParsePrefix(entry); err == nil && ip.IsValid() && in.Contains(ip) {
			return true
		}
		name := strings.TrimPrefix(strings.TrimPrefix(entry, "*"), ".")
		if entry == "*" || host == name && name == entry || name != "" && strings.HasSuffix(host, "."+name) {
			return true
		}
	}
	return false
}

// reachHint returns advice for a server that could not be reached, by the cause that the network
// reports, or "" for an unknown cause. proxy is the advice where requests go through one.
func reachHint(name, host, proxy string, err error) string {
	var authority x509.UnknownAuthorityError
	var other x509.HostnameError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	var op *net.OpError
	switch {
	case errors.As(err, &authority):
		return "the certificate of " + host + " is signed by " + authorities(os.Getenv("SSL_CERT_FILE"))
	case errors.As(err, &other):
		return "the certificate that " + host + " shows is for another name; check the base URL"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "the certificate of " + host + " has expired, or the clock of this machine is wrong"
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return host + " does not use TLS: the base URL must begin with http://"
	case proxy != "":
		return proxy
	case name == "ollama":
		return "start it with: ollama serve; or correct the base URL, which is " + host
	case errors.Is(err, syscall.ECONNREFUSED):
		return "check that a server runs at " + host + ", which the base URL names"
	case errors.As(err, &op):
		return "check the network, and that a server runs at " + host + ", which the base URL names"
	}
	return ""
}

// authorities describe those that did not sign a certificate: all that this machine knows, or those
// in the file that the user named, if any could be read from it.
func authorities(file string) string {
	if file == "" {
		return "an authority that is not known here: name the file of its certificate in SSL_CERT_FILE"
	}
	pem, err := os.ReadFile(file)
	switch {
	case err != nil:
		return "an authority that is not known here, and the file in SSL_CERT_FILE cannot be read: " + err.Error()
	case !x509.NewCertPool().AppendCertsFromPEM(pem):
		return "an authority that is not known here, and " + file + ", which SSL_CERT_FILE names, has no certificate in PEM"
	}
	return "no authority in " + file + ", which SSL_CERT_FILE names"
}

// proxyWords describe the proxy that requests to an address go through, "" for none.
func proxyWords(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return ""
	}
	p, err := proxyOf(u)
	if err != nil || p == nil {
		return ""
	}
	name, _ := proxyVariable(u.Scheme)
	return "the proxy " + p.Host + ", which " + name + " names"
}

// otherPath is an address with the path of another request than those that are made.
var otherPath = lazyregexp.New(`^(.*/v[0-9][0-9a-z]*)/(?:models|embeddings|chat)$`)

// around are the characters that surround an address or a key where people copy it from.
const around = "\"'`<>()[]{}“”‘’«»,; \u00a0"

// beforeAddress matches the text before an address: the name of its variable, or a command.
var beforeAddress = lazyregexp.New(`(?i)^(?:[^/?]*[\s=:"'(<]+|https?://)(https?://.*)$`)

// pasted returns the address in a text as people copy it: without quotes, brackets, the name of a
// variable before it, what follows a blank, and characters that nobody sees.
func pasted(s string) string {
	s = strings.TrimSpace(visible(s))
	if m := beforeAddress.FindStringSubmatch(s); m != nil {
		s = m[1]
	} else if rest := strings.TrimLeft(s, around); !strings.HasPrefix(s, "[") {
		s = rest
	}
	if at, _, ok := strings.Cut(s, " "); ok && strings.Contains(at, "://") && !strings.HasSuffix(at, "://") {
		s = at
	}
	return strings.TrimRight(s, strings.ReplaceAll(around, "]", "")+".\\")
}

// visible returns a text without characters that have no width, such as a byte order mark.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, s)
}

// keyName is the name of a variable or header before a key, with the word of the header.
var keyName = lazyregexp.New(`^(?:(?i:export|set|setx)\s+|\$(?i:env):)?(?:[A-Z][A-Z0-9]*_[A-Z0-9_]*\s*[=\s]|(?i:authorization|(?:x-)?api-key)\s*:)\s*`)

// Secret strips from a key what surrounds it in files and variables: blanks, line ends, quotes,
// characters that nobody sees, the name of its variable or header, the word of its header.
func Secret(s string) string {
	for s = visible(s); ; {
		was := s
		s = strings.TrimSpace(s)
		if first, n := utf8.DecodeRuneInString(s); n > 0 {
			last, m := utf8.DecodeLastRuneInString(strings.TrimRight(s, ",;"))
			if at := strings.IndexRune("\"'`“‘«<", first); at >= 0 && len(s) > n && strings.ContainsRune("\"'`”’»>", last) {
				s = strings.TrimRight(s, ",;")
				s = s[n : len(s)-m]
			}
		}
		s = keyName.ReplaceAllString(s, "")
		if len(s) > 7 && strings.EqualFold(s[:7], "Bearer ") {
			s = s[7:]
		}
		if s == was {
			return s
		}
	}
}
