package transport

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/llm"
)

func TestAddress(t *testing.T) {
	for in, want := range map[string]string{
		"http://h/v1/@cf/x":                               "http://h/v1/@cf/x",
		"http://me:pw@h:1/v1/@":                           "http://xxxxx@h:1/v1/@",
		"https://token@h?a=b@c":                           "https://xxxxx@h?a=xxxxx",
		"http://h/v1?key=s3cret&api-version=2024-10-21#x": "http://h/v1?key=xxxxx&api-version=2024-10-21#x",
		"h:1?s3cret":                                      "h:1?xxxxx", "http://h/v1?": "http://h/v1?xxxxx", "http://h?a=1?b=2&c": "http://h?a=xxxxx&xxxxx",
		"me:p/w@h:8000/v1":     "xxxxx@h:8000/v1",
		"ftp://me:p/w@h":       "ftp://xxxxx@h",
		"http://me:p%ZZw@h/v1": "http://xxxxx@h/v1",
		"nothing":              "nothing",
	} {
		if got := Shown(in); got != want {
			t.Errorf("%q is shown as %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"http://h:8000/v1":                               "http://h:8000/v1",
		" http://h:8000/v1/ \r\n":                        "http://h:8000/v1",
		`"http://h/v1/"`:                                 "http://h/v1",
		"'http://h/v1 '":                                 "http://h/v1",
		"http://h/v1/chat/completions":                   "http://h/v1",
		"http://h//v1///x//":                             "http://h/v1/x",
		"http://h/v1/chat/completions/?a=b&c=d":          "http://h/v1?a=b&c=d",
		"http://h/v1/?a=b#part":                          "http://h/v1?a=b",
		"http://h/v1/#part":                              "http://h/v1",
		"https://h/v1/messages":                          "https://h/v1",
		"http://h/api/chat":                              "http://h",
		"http://h/openai/deployments/x/chat/completions": "http://h/openai/deployments/x",
		"localhost:8080/v1":                              "http://localhost:8080/v1", "localhost": "http://localhost", "127.0.0.1:8080": "http://127.0.0.1:8080", "[::1]:8080/v1": "http://[::1]:8080/v1",
		"gpu:8000/v1/chat/completions": "http://gpu:8000/v1", "192.168.1.2/v1": "http://192.168.1.2/v1", "api.x.com": "https://api.x.com", "api.x.com/v1?a=b": "https://api.x.com/v1?a=b",
		"//api.x.com/v1": "https://api.x.com/v1", "api.x.com:8443/v1": "https://api.x.com:8443/v1", "8.8.8.8:80": "https://8.8.8.8:80",
		"lab": "lab", "./v1": "./v1", "ftp://h.example": "ftp://h.example", "http:/h.example": "http:/h.example", "mailto:a@h.example": "mailto:a@h.example", "": "",
		"see http://h/v1?to=http://x": "http://h/v1?to=http://x", "http://h/v1?to=http://x": "http://h/v1?to=http://x", "[::1]:80/v1,": "http://[::1]:80/v1", "https://h.example:443/v1": "https://h.example:443/v1", "https://bücher.example/v1": "https://bücher.example/v1",
		"http://u:p@h/v1": "http://u:p@h/v1",
	} {
		base, query := Address(in)
		if got := strings.TrimSuffix(base+"?"+query, "?"); got != want {
			t.Errorf("%q is %s, want %s", in, got, want)
		}
	}
}

func TestSecret(t *testing.T) {
	for _, in := range []string{"sk-1", "sk-1\r", "sk-1\r\n", " sk-1\t", `"sk-1"`, "'sk-1'\n", "\ufeffsk-1", "Bearer sk-1", `"Bearer sk-1 "`,
		"bearer sk-1", "Authorization: Bearer sk-1", "x-api-key: sk-1", "api-key:sk-1", "OPENAI_API_KEY=sk-1", "export OPENAI_API_KEY=sk-1", `export OPENAI_API_KEY="sk-1"`, `set OPENAI_API_KEY=sk-1`, `setx OPENAI_API_KEY "sk-1"`, `$env:OPENAI_API_KEY = "sk-1"`, "OPENAI_API_KEY='Bearer sk-1'\r\n",
		"\u00a0sk-1\u00a0", "sk-1\u200b", "\u200esk-1", "“sk-1”", "`sk-1`", "<sk-1>", `"sk-1",`, "'sk-1';", `" sk-1 "`, "\ufeff\"sk-1\"\n"} {
		e := Endpoint{Name: "x", Base: "http://h", Key: in}
		if err := e.Ready(); err != nil || e.Key != "sk-1" {
			t.Errorf("%q is %q, %v", in, e.Key, err)
		}
	}
	for in, want := range map[string]string{"sk\n1": "the end of a line", "sk\x001": "a control character", "sk-\u043f1": "the character U+043F", "sk\u00a01": "the character U+00A0", "sk 1": "the character U+0020", "sk\u20261": "the character U+2026"} {
		e := Endpoint{Name: "x", Base: "http://h", Key: in}
		if err := e.Ready(); err == nil || !strings.Contains(err.Error(), "the key has "+want) || strings.Contains(err.Error(), "sk") {
			t.Errorf("%q: %v", in, err)
		}
		if strings.Contains(want, "U+") {
			continue // a header may have it
		}
		e = Endpoint{Name: "x", Base: "http://h", Headers: map[string]string{"A": in}}
		if err := e.Ready(); err == nil || !strings.Contains(err.Error(), "the header A has "+want) {
			t.Errorf("%q: %v", in, err)
		}
	}
}

func TestProxies(t *testing.T) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "REQUEST_METHOD"} {
		t.Setenv(name, "")
		t.Setenv(strings.ToLower(name), "")
	}
	for _, c := range []struct{ set, to, want string }{
		{"", "https://h.example", ""},
		{"HTTPS_PROXY=http://p:1", "https://h.example", "p:1"},
		{"HTTPS_PROXY=http://p:1", "http://h.example", ""},
		{"ALL_PROXY=socks5://q:2", "https://h.example", "q:2"},
		{"all_proxy=q:2", "http://h.example", "q:2"},
		{"ALL_PROXY=q:2 HTTPS_PROXY=p:1", "https://h.example", "p:1"},
		{"ALL_PROXY=q:2 NO_PROXY=.example", "https://h.example", ""},
		{"ALL_PROXY=q:2", "http://127.0.0.1:8000", ""},
		{"ALL_PROXY=q:2 NO_PROXY=a,h.example", "https://h.example", ""},
		{"ALL_PROXY=q:2 NO_PROXY=example", "https://h.example", ""},
		{"ALL_PROXY=q:2 NO_PROXY=xample", "https://h.example", "q:2"},
		{"ALL_PROXY=q:2 NO_PROXY=.h.example", "https://h.example", "q:2"},
		{"ALL_PROXY=q:2 NO_PROXY=h.example:99", "https://h.example", "q:2"},
		{"ALL_PROXY=q:2 NO_PROXY=10.0.0.0/8", "https://10.1.2.3", ""},
		{"ALL_PROXY=q:2 NO_PROXY=*", "https://h.example", ""},
		{"HTTPS_PROXY=\"http://p:1\"", "https://h.example", "p:1"},
		{"HTTPS_PROXY='p:1'", "https://h.example", "p:1"},
		{"HTTPS_PROXY=socks4://p:1", "https://h.example", "HTTPS_PROXY is no address of a proxy"},
	} {
		t.Run(c.set+" "+c.to, func(t *testing.T) {
			for _, v := range strings.Fields(c.set) {
				name, value, _ := strings.Cut(v, "=")
				t.Setenv(name, value)
			}
			u, _ := url.Parse(c.to)
			got := ""
			if p, err := proxyOf(u); err != nil {
				got, _, _ = strings.Cut(err.Error(), ",")
			} else if p != nil {
				got = p.Host
			}
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestHintsNameTheCause: a hint names no cause that was not measured.
func TestHintsNameTheCause(t *testing.T) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "REQUEST_METHOD"} {
		t.Setenv(name, "")
		t.Setenv(strings.ToLower(name), "")
	}
	h := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	plain, secure := httptest.NewServer(h), httptest.NewTLSServer(h)
	defer plain.Close()
	defer secure.Close()
	secure.Config.ErrorLog = nil
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer silent.Close()
	empty := filepath.Join(t.TempDir(), "empty.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ set, base, want, not string }{
		{"", "http://127.0.0.1:1", "check that a server runs at http://127.0.0.1:1", ""},
		{"", secure.URL, "SSL_CERT_FILE", "server runs"},
		{"SSL_CERT_FILE=" + empty + ".none", secure.URL, "cannot be read: open " + empty + ".none", "no authority in"},
		{"SSL_CERT_FILE=" + empty, secure.URL, "has no certificate", "no authority in"},
		{"", silent.URL, "closed the connection before it answered", "server runs"},
		{"", strings.Replace(plain.URL, "http:", "https:", 1), "http://", "server runs"},
		{"", strings.Replace(secure.URL, "https:", "http:", 1), "https://", "server runs"},
		{"HTTPS_PROXY=http://127.0.0.1:1", "https://h.example", "the proxy 127.0.0.1:1, which HTTPS_PROXY names", "server runs"},
		{"ALL_PROXY=http://127.0.0.1:1", "http://h.example", "the proxy 127.0.0.1:1, which ALL_PROXY names", "server runs"},
		{"ALL_PROXY=" + silent.URL, "http://h.example", "which ALL_PROXY names", "its log"},
		{"ALL_PROXY=http://proxy.invalid:1", "http://h.example", "the proxy proxy.invalid:1, which ALL_PROXY names", "base URL"},
	} {
		t.Run(c.set+" "+c.base, func(t *testing.T) {
			if name, value, ok := strings.Cut(c.set, "="); ok {
				t.Setenv(name, value)
			}
			e := &Endpoint{Name: "x", Base: c.base}
			if err := e.Ready(); err != nil {
				t.Fatal(err)
			}
			_, err := e.Get(t.Context(), "/")
			var got *llm.Error
			if !errors.As(err, &got) || !strings.Contains(got.Hint, c.want) || c.not != "" && strings.Contains(got.Hint, c.not) {
				t.Errorf("%v: %+v", err, got)
			}
		})
	}
}

// TestRefusalsByHeader: what only the headers of a refusal have is named, and a redirect gets neither
// the request nor the key.
func TestRefusalsByHeader(t *testing.T) {
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	for _, c := range []struct {
		status             int
		name, value        string
		body, says, advice string
	}{
		{401, "WWW-Authenticate", `Bearer realm="x", error="invalid_token", error_description="The access token \"a\" expired"`, "", `The access token "a" expired`, `(The access token "a" expired)`},
		{401, "WWW-Authenticate", `Bearer error=invalid_token`, `{"error":"no"}`, "no", "(invalid_token)"},
		{401, "WWW-Authenticate", `Basic realm="x"`, "", "unauthorized", "refused the key of x; check"},
		{307, "Location", other.URL + "/v1/chat/completions?token=t", "", "redirect to " + other.URL + ", which is not followed", "on " + other.URL},
		{302, "Location", "//other.example/v1", "", "redirect to http://other.example", "on http://other.example"},
		{308, "Location", "/v2/chat/completions", "", "redirect, which is not followed", "it points to /v2/chat/completions on the same server"},
		{301, "Location", "", "", "redirect, which is not followed", ""},
	} {
		t.Run(c.name+" "+c.value, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set(c.name, c.value)
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			}))
			defer s.Close()
			e := &Endpoint{Name: "x", Base: s.URL, Key: "sk-secret"}
			if err := e.Ready(); err != nil {
				t.Fatal(err)
			}
			_, err := e.Get(t.Context(), "/")
			var got *llm.Error
			if !errors.As(err, &got) || !strings.Contains(got.Message, c.says) || !strings.Contains(got.Hint, c.advice) || strings.Contains(got.Error()+got.Hint, "token=t") {
				t.Errorf("%v: %+v", err, got)
			}
		})
	}
	if n := elsewhere.Load(); n > 0 {
		t.Errorf("%d requests came to the place of a redirect", n)
	}
}

// TestPatience: a server near by may be silent before its first byte for as long as it lives, unless a
// limit is set.
func TestPatience(t *testing.T) {
	for base, near := range map[string]bool{"http://127.0.0.1:1": true, "http://[::1]:1": true, "http://192.168.1.2": true, "http://gpu:8000": true, "http://box.local": true,
		"https://api.openai.com": false, "http://8.8.8.8": false} {
		for _, limit := range []time.Duration{0, time.Minute} {
			e := Endpoint{Name: "x", Base: base, Idle: limit}
			if err := e.Ready(); err != nil || e.patient != (near && limit == 0) {
				t.Errorf("%s with %s: %v, %v", base, limit, e.patient, err)
			}
		}
	}
	w := newWatch(context.Background(), time.Minute, time.Hour, false, true)
	defer w.stop()
	if w.idle != nil || w.total != nil {
		t.Error("a limit runs before the first byte")
	}
	if w.Touch(); w.idle == nil || w.total == nil {
		t.Error("no limit runs after the first byte")
	}
}
