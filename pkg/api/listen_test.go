package api_test

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/pkg/api"
)

const token = "a-token-of-the-test"

// serve answers with a handler until the test ends, or stop is called.
func serve(t *testing.T, o api.Options, h http.HandlerFunc) (l *api.Listener, stop func() error) {
	t.Helper()
	o.Token = token
	if o.Address == "" {
		o.Address = "127.0.0.1:0"
	}
	l, err := api.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- l.Serve(ctx, h) }()
	var err2 error
	over := false
	stop = func() error {
		if cancel(); !over {
			over, err2 = true, <-ended
		}
		return err2
	}
	t.Cleanup(func() { _ = stop() })
	return l, stop
}

func hello(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }

// Who does not know the token, and what comes from a page of a browser, is refused
// in the form of the interface.
func TestRefuses(t *testing.T) {
	l, _ := serve(t, api.Options{}, hello)
	host := strings.TrimPrefix(l.URL(), "http://")
	for _, tt := range []struct {
		name, host, origin, auth string
		want                     int
	}{
		{"as it is meant", host, "", "Bearer " + token, http.StatusOK},
		{"by name", "localhost:1", "", "Bearer " + token, http.StatusOK},
		{"from itself", host, "http://" + host, "Bearer " + token, http.StatusOK},
		{"no token", host, "", "", http.StatusUnauthorized},
		{"another token", host, "", "Bearer " + token + "x", http.StatusUnauthorized},
		{"a beginning of the token", host, "", "Bearer " + token[:8], http.StatusUnauthorized},
		{"another scheme", host, "", "Basic " + token, http.StatusUnauthorized},
		{"a page", host, "https://example.com", "Bearer " + token, http.StatusForbidden},
		{"a page on another port", host, "http://127.0.0.1:1", "Bearer " + token, http.StatusForbidden},
		{"a sandboxed page", host, "null", "Bearer " + token, http.StatusForbidden},
		{"rebinding", "evil.example", "", "Bearer " + token, http.StatusForbidden},
		{"rebinding with its origin", "evil.example", "http://evil.example", "Bearer " + token, http.StatusForbidden},
		{"a name that begins alike", "localhost.evil.example", "", "Bearer " + token, http.StatusForbidden},
	} {
		for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodOptions} {
			r, err := http.NewRequestWithContext(t.Context(), method, l.URL()+"/v1/jobs/list", strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			r.Host = tt.host
			for k, v := range map[string]string{"Origin": tt.origin, "Authorization": tt.auth} {
				if v != "" {
					r.Header.Set(k, v)
				}
			}
			resp, err := http.DefaultTransport.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.StatusCode != tt.want || err != nil {
				t.Errorf("%s, %s: %s, want %d (%v)", tt.name, method, resp.Status, tt.want, err)
			}
			if e := struct{ Detail string }{}; tt.want != http.StatusOK && (json.Unmarshal(b, &e) != nil || e.Detail == "") {
				t.Errorf("%s: %s", tt.name, b)
			}
		}
	}
}

// Who is refused cannot hold a connection by sending its body slowly.
func TestRefusedSlowly(t *testing.T) {
	l, _ := serve(t, api.Options{}, hello)
	c, err := net.Dial("tcp", strings.TrimPrefix(l.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000000\r\n\r\nx")
	got, err := io.ReadAll(c) // ends when the server closes it
	if !strings.HasPrefix(string(got), "HTTP/1.1 401 ") {
		t.Errorf("%q, %v", got, err)
	}
}

// Addresses that others can reach, ports that are taken and files that are no
// certificate are refused with what helps.
func TestOpenRefuses(t *testing.T) {
	l, _ := serve(t, api.Options{}, hello)
	for _, tt := range []struct {
		o    api.Options
		want string
	}{
		{api.Options{Address: "0.0.0.0:0"}, "not an address of this machine alone"},
		{api.Options{Address: ":0"}, "not an address of this machine alone"},
		{api.Options{Address: "nonsense"}, "listening: "},
		{api.Options{Address: strings.TrimPrefix(l.URL(), "http://")}, "another process listens on "},
		{api.Options{Address: "127.0.0.1:0", Cert: "none.pem"}, "TLS: "},
	} {
		got, err := api.Open(tt.o)
		if err == nil || !strings.Contains(err.Error(), tt.want) || problem.Hint(err) == "" {
			t.Errorf("%+v: %v, %v", tt.o, got, err)
		}
	}
}

// With a certificate, the server goes by the names that it has.
func TestTLS(t *testing.T) {
	cert, key, pool := certificate(t, "agents.example")
	l, _ := serve(t, api.Options{Address: "0.0.0.0:0", Cert: cert, Key: key}, hello)
	_, port, err := net.SplitHostPort(strings.TrimPrefix(l.URL(), "https://"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "https://agents.example:" + port + "/login?code="; !strings.HasPrefix(l.Link(), want) {
		t.Errorf("the link is %s, want one that begins with %s", l.Link(), want)
	}
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "agents.example"},
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", "127.0.0.1:"+port)
		}}}
	for host, want := range map[string]int{"agents.example": http.StatusOK, "evil.example": http.StatusForbidden} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+host+":"+port, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if resp.Body.Close(); resp.StatusCode != want {
			t.Errorf("%s: %s", host, resp.Status)
		}
	}
}

// certificate writes a certificate for a name, and its key.
func certificate(t *testing.T, name string) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	must := func(err error) {
		if t.Helper(); err != nil {
			t.Fatal(err)
		}
	}
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	about := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{name}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	b, err := x509.CreateCertificate(rand.Reader, about, about, &k.PublicKey, k)
	must(err)
	kb, err := x509.MarshalECPrivateKey(k)
	must(err)
	dir := t.TempDir()
	cert, key, pool = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), x509.NewCertPool()
	chain := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: b})
	must(os.WriteFile(cert, chain, 0o600))
	must(os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: kb}), 0o600))
	pool.AppendCertsFromPEM(chain)
	return cert, key, pool
}

// A server that stops gives up what is in progress, and says so to it.
func TestStop(t *testing.T) {
	cause := make(chan error, 1)
	l, stop := serve(t, api.Options{}, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "begun")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		cause <- context.Cause(r.Context())
	})
	resp, err := (&http.Client{Transport: api.Bearer(token)}).Get(l.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if line, err := bufio.NewReader(resp.Body).ReadString('\n'); line != "begun\n" {
		t.Fatal(line, err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if err := <-cause; err == nil || err.Error() != "the server is stopping" {
		t.Errorf("the request ended because of %v", err)
	}
	if _, err := (&http.Client{Transport: api.Bearer(token)}).Get(l.URL()); problem.Hint(err) == "" {
		t.Errorf("nobody listens: %v", err)
	}
}
