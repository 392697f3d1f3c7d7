package netguard

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func serve(t *testing.T, h http.HandlerFunc) (base, hostport string) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return s.URL, u.Host
}

func fetch(c *http.Client, url string) ([]byte, error) {
	resp, err := c.Get(url)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}

func TestInsideIsBlockedHoweverItIsSpelled(t *testing.T) {
	var hits atomic.Int32
	_, hostport := serve(t, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	_, port, _ := net.SplitHostPort(hostport)
	c := Guard{Timeout: 10 * time.Second}.Client()
	for _, host := range []string{
		"127.0.0.1", "localhost", "LOCALHOST", "127.1", "127.0.1", "2130706433", "0x7f000001", "0177.0.0.1", "0x7f.1",
		"[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:127.0.0.1]", "0.0.0.0", "0", "[::]",
		"①②⑦.⓪.⓪.①", "127.0.0.1.", "[::1%25lo]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "127.255.255.254",
	} {
		if b, err := fetch(c, "http://"+host+":"+port+"/"); err == nil {
			t.Errorf("%s: answered %q", host, b)
		}
	}
	if n := hits.Load(); n != 0 {
		t.Errorf("%d requests arrived", n)
	}
	var blocked *blockedError
	if _, err := fetch(c, "http://127.0.0.1:"+port); !errors.As(err, &blocked) || !strings.Contains(err.Error(), "network: {allow: [127.0.0.1]}") {
		t.Errorf("the error does not say what to do: %v", err)
	}
}

func TestRangesThatAreNotPublic(t *testing.T) {
	for _, s := range []string{
		"169.254.169.254", "10.0.0.1", "172.31.255.255", "192.168.1.1", "100.64.0.1", "198.18.0.1", "224.0.0.1", "255.255.255.255", "0.1.2.3",
		"fc00::1", "fd12::1", "fe80::1", "fec0::1", "ff02::1", "::", "::1", "::127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "64:ff9b:1::1",
		"2001::1", "2001:db8::1", "2002:a00:1::", "100::1", "fe80::1%eth0",
	} {
		if inside(netip.MustParseAddr(s)) == "" {
			t.Errorf("%s counts as public", s)
		}
	}
	for _, s := range []string{"1.1.1.1", "8.8.8.8", "172.32.0.1", "2606:4700::1111", "2a00:1450::1"} {
		if kind := inside(netip.MustParseAddr(s)); kind != "" {
			t.Errorf("%s counts as %s", s, kind)
		}
	}
}

func TestJudgesTheAddressAndNotTheName(t *testing.T) {
	r, err := Guard{Allow: []string{"10.1.0.0/16"}}.rules()
	if err != nil {
		t.Fatal(err)
	}
	// A name that was public when it was looked at and is not when it is dialled.
	if err := r.judge("example.org", "127.0.0.1:80"); err == nil {
		t.Error("a rebound name was let through")
	}
	if err := r.judge("intranet", "10.1.2.3:80"); err != nil {
		t.Error("an allowed prefix is blocked:", err)
	}
	if err := r.judge("intranet", "[::ffff:10.1.2.3]:80"); err != nil {
		t.Error("an allowed prefix in its mapped form is blocked:", err)
	}
	if err := r.judge("intranet", "10.2.0.1:80"); err == nil {
		t.Error("beside the allowed prefix was let through")
	}
}

func TestAllowIsAsNarrowAsItIsWritten(t *testing.T) {
	ok := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }
	one, oneHost := serve(t, ok)
	two, _ := serve(t, ok)
	c := Guard{Allow: []string{oneHost}}.Client()
	if b, err := fetch(c, one); err != nil || string(b) != "hello" {
		t.Errorf("the allowed server: %q, %v", b, err)
	}
	if _, err := fetch(c, two); err == nil {
		t.Error("another port of the same host was reached")
	}
	if _, err := fetch(Guard{Allow: []string{"10.0.0.0/8/1"}}.Client(), one); err == nil || (Guard{Allow: []string{"a b"}}).Check() == nil {
		t.Error("a rule that means nothing was taken")
	}
}

func TestRedirects(t *testing.T) {
	inside, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "secret") })
	var seen atomic.Pointer[http.Header]
	other, otherHost := serve(t, func(_ http.ResponseWriter, r *http.Request) { seen.Store(&r.Header) })
	base, host := serve(t, func(w http.ResponseWriter, r *http.Request) {
		to := map[string]string{"/inside": inside, "/other": other, "/loop": "/loop", "/file": "file:///etc/passwd", "/user": "http://a:b@" + r.Host + "/"}[r.URL.Path]
		http.Redirect(w, r, to, http.StatusFound)
	})
	c := Guard{Allow: []string{host, otherHost}}.Client()
	for _, path := range []string{"/inside", "/loop", "/file", "/user"} {
		if b, err := fetch(c, base+path); err == nil {
			t.Errorf("%s: answered %q", path, b)
		}
	}
	req, _ := http.NewRequest("GET", base+"/other", nil)
	for _, h := range []string{"Authorization", "Cookie", "X-Api-Key", "Notion-Version"} {
		req.Header.Set(h, "k3y")
	}
	req.Header.Set("User-Agent", "adroit")
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	for name, v := range *seen.Load() {
		if strings.Contains(strings.Join(v, ""), "k3y") {
			t.Errorf("%s went to another host", name)
		}
	}
	if seen.Load().Get("User-Agent") != "adroit" {
		t.Error("a harmless header was lost")
	}
}

func TestOtherSchemes(t *testing.T) {
	c := Guard{}.Client()
	for _, u := range []string{"file:///etc/passwd", "data:text/plain,x", "gopher://example.org/", "ftp://example.org/", "javascript:alert(1)", "http:///x", "http://u:p@example.org/"} {
		var blocked *blockedError
		if _, err := fetch(c, u); !errors.As(err, &blocked) && !strings.Contains(fmt.Sprint(err), "unsupported protocol") && !strings.Contains(fmt.Sprint(err), "no Host") {
			t.Errorf("%s: %v", u, err)
		}
	}
}

func TestBodiesAreBounded(t *testing.T) {
	base, host := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			for range 64 {
				if _, err := z.Write(make([]byte, 1<<20)); err != nil {
					return
				}
			}
			z.Close()
		case "/endless":
			for {
				if _, err := w.Write(bytes.Repeat([]byte("x"), 1<<16)); err != nil {
					return
				}
			}
		case "/slow":
			for r.Context().Err() == nil {
				fmt.Fprint(w, "x")
				w.(http.Flusher).Flush()
				select {
				case <-r.Context().Done():
				case <-time.After(10 * time.Millisecond):
				}
			}
		case "/headers":
			for i := range 10_000 {
				w.Header().Set(fmt.Sprintf("X-%d", i), strings.Repeat("h", 100))
			}
		case "/exact":
			w.Write(make([]byte, 1<<20))
		}
	})
	c := Guard{Allow: []string{host}, MaxBody: 1 << 20, Timeout: 20 * time.Second}.Client()
	for _, path := range []string{"/bomb", "/endless"} {
		b, err := fetch(c, base+path)
		var large *tooLargeError
		if !errors.As(err, &large) || len(b) > 1<<20 {
			t.Errorf("%s: %d bytes, %v", path, len(b), err)
		}
	}
	if b, err := fetch(c, base+"/exact"); err != nil || len(b) != 1<<20 {
		t.Errorf("a body of just the limit: %d bytes, %v", len(b), err)
	}
	if _, err := fetch(c, base+"/headers"); err == nil {
		t.Error("a megabyte of headers was taken")
	}
	quick := Guard{Allow: []string{host}, Timeout: 300 * time.Millisecond}.Client()
	if _, err := fetch(quick, base+"/slow"); err == nil {
		t.Error("a body that trickles for ever ended without an error")
	}
}

func TestNoProxyOfTheEnvironment(t *testing.T) {
	var hits atomic.Int32
	proxy, _ := serve(t, func(http.ResponseWriter, *http.Request) { hits.Add(1) })
	t.Setenv("HTTP_PROXY", proxy)
	t.Setenv("http_proxy", proxy)
	t.Setenv("ALL_PROXY", proxy)
	if _, err := fetch(Guard{Timeout: 5 * time.Second}.Client(), "http://169.254.169.254/latest"); err == nil {
		t.Error("the metadata address answered")
	}
	if hits.Load() != 0 {
		t.Error("the request went to the proxy")
	}
}
