package mcp

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/e2e/authserver"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/turn"
)

// poolOf returns a pool with the server as "docs", which keeps its files in dir.
func poolOf(t *testing.T, s *authserver.Server, dir string) *Pool {
	t.Helper()
	p := New(Options{Dir: dir + "/mcp", Keys: rootfs.In(dir), Servers: map[string]Server{"docs": {URL: s.URL + "/mcp"}}})
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// browser visits a page and goes where it leads.
func browser(address string) error {
	r, err := http.Get(address)
	if err != nil {
		return err
	}
	return r.Body.Close()
}

func TestMCPLogin(t *testing.T) {
	s, dir := authserver.New(t, ""), t.TempDir()
	p := poolOf(t, s, dir)
	if _, err := p.Tools(t.Context(), turn.Scope{}, []string{"docs"}); err == nil || !strings.Contains(err.Error(), "adroit mcp login docs") {
		t.Fatalf("before the login: %v", err)
	}
	var wrong []int
	r, err := p.Login(t.Context(), turn.Scope{}, "docs", LoginForm{Open: func(address string) error {
		u, err := url.Parse(address)
		if err != nil {
			return err
		}
		// Another page sends the browser to the redirect first.
		for _, query := range []string{"", "?code=x&state=wrong", "?code=x&state=" + u.Query().Get("state") + "&state=wrong"} {
			resp, err := http.Get(u.Query().Get("redirect_uri") + query)
			if err != nil {
				return err
			}
			wrong = append(wrong, resp.StatusCode)
			_ = resp.Body.Close()
		}
		return browser(address)
	}})
	if err != nil || len(r.Items) != 1 || !slices.Equal(wrong, []int{400, 400, 400}) {
		t.Fatalf("the login: %+v, %v; wrong answers got %v", r, err, wrong)
	}
	if info, err := os.Stat(dir + "/credentials.json"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the tokens: %v, %v", info, err)
	}
	f := &fixture{Pool: poolOf(t, s, dir)}
	who := f.ofServer(t, "docs", "who")
	if r := f.call(t, who); r.Text != "you sent Bearer [a token]" {
		t.Errorf("the result is %+v", r)
	}
	list, err := f.List(turn.Scope{})
	if err != nil || !list[0].LoggedIn || list[0].State != "used" {
		t.Errorf("the list is %+v, %v", list, err)
	}

	// Another address under the name does not get the tokens.
	other := authserver.New(t, "")
	foreign := New(Options{Dir: dir + "/mcp", Keys: rootfs.In(dir), Servers: map[string]Server{"docs": {URL: other.URL + "/mcp"}}})
	defer foreign.Close()
	if _, err := foreign.Tools(t.Context(), turn.Scope{}, []string{"docs"}); err == nil || !strings.Contains(err.Error(), "there was none") {
		t.Errorf("at another address: %v", err)
	}
	if out, err := p.Logout(t.Context(), "docs"); !out.Was || !out.Revoked || out.Failed != nil || err != nil || s.Revoked != 1 {
		t.Errorf("the logout: %+v, %v", out, err)
	}
	if r, err := poolOf(t, s, dir).Call(t.Context(), turn.Scope{}, who, nil, json.RawMessage("{}")); err != nil || !strings.Contains(r.Text, "adroit mcp login docs") {
		t.Errorf("after the logout: %+v, %v", r, err)
	}
	if s.Faults != nil {
		t.Errorf("the server found %q", s.Faults)
	}
}

// TestMCPRenews: tokens that have expired are renewed once, for all users, and a login that was
// revoked is asked for anew.
func TestMCPRenews(t *testing.T) {
	s, dir := authserver.New(t, ""), t.TempDir()
	s.Expires = 1 // is not good for as long as a request takes
	if _, err := poolOf(t, s, dir).Login(t.Context(), turn.Scope{}, "docs", LoginForm{Open: browser}); err != nil {
		t.Fatal(err)
	}
	s.Lock()
	s.Renewed, s.Expires = 0, 3600
	s.Unlock()
	var wait sync.WaitGroup
	for range 4 { // processes
		f := &fixture{Pool: poolOf(t, s, dir)}
		wait.Go(func() {
			list, err := f.Tools(context.WithoutCancel(t.Context()), f.scope, []string{"docs"})
			if err != nil || len(list) != 1 {
				t.Errorf("the tools are %v, %v", list, err)
				return
			}
			r, err := f.Call(context.WithoutCancel(t.Context()), f.scope, list[0], nil, json.RawMessage("{}"))
			if err != nil || r.Failed {
				t.Errorf("the result is %+v, %v", r, err)
			}
		})
	}
	wait.Wait()
	if s.Renewed != 1 {
		t.Errorf("it was renewed %d times", s.Renewed)
	}
	s.Lock()
	s.Access, s.How = "", "revoked"
	s.Unlock()
	f := &fixture{Pool: poolOf(t, s, dir)}
	g, err := f.grant("docs", Server{URL: s.URL + "/mcp"})
	if err != nil {
		t.Fatal(err)
	}
	g.Token.Expiry = g.Token.Expiry.AddDate(-1, 0, 0)
	if err := f.keep("docs", g); err != nil {
		t.Fatal(err)
	}
	list, err := f.Tools(t.Context(), f.scope, []string{"docs"})
	if err != nil {
		t.Fatal(err)
	}
	r := f.call(t, list[0])
	if !r.Failed || !strings.Contains(r.Text, "was not renewed (invalid_grant); adroit mcp login docs") {
		t.Errorf("after it was revoked: %+v", r)
	}
	s.Hides(t, r.Text)
}

// TestMCPStepUp: a call that lacks a right asks once, and after the login that the person makes
// meanwhile it is made again, in the same process and in another one.
func TestMCPStepUp(t *testing.T) {
	s, dir := authserver.New(t, ""), t.TempDir()
	login := func() {
		t.Helper()
		if _, err := poolOf(t, s, dir).Login(t.Context(), turn.Scope{}, "docs", LoginForm{Open: browser}); err != nil {
			t.Fatal(err)
		}
	}
	login()
	f := &fixture{Pool: poolOf(t, s, dir)}
	who := f.ofServer(t, "docs", "who")
	s.Lock()
	s.Wants = "docs:write"
	s.Unlock()
	_, a := asking(t, f.Pool, who)
	if a == nil || !strings.Contains(a.Message, "more rights (docs:write)") || !strings.Contains(a.Message, "adroit mcp login docs") {
		t.Fatalf("it asks %+v", a)
	}
	if r, _ := asking(t, f.Pool, who, turn.Answer{ID: a.ID, Call: a.Call, Action: "decline"}); !r.Failed || !strings.Contains(r.Text, "the user has said no") {
		t.Errorf("after a no: %+v", r)
	}
	_, a = asking(t, f.Pool, who)
	if r, more := asking(t, f.Pool, who, accept(a, "null")); more != nil || !r.Failed || r.Undecided || !strings.Contains(r.Text, "was not done") || !strings.Contains(r.Text, "adroit mcp login docs") {
		t.Errorf("without a login: %+v, it asks %+v", r, more)
	}
	_, a = asking(t, f.Pool, who)
	_, b := asking(t, poolOf(t, s, dir), who)
	login()
	if got := strings.Fields(s.Scope); !slices.Contains(got, "docs:write") {
		t.Errorf("the login asked for %q", got)
	}
	for _, p := range []*Pool{f.Pool, poolOf(t, s, dir)} {
		s.Lock()
		s.Called = 0
		s.Unlock()
		if r, more := asking(t, p, who, accept(a, "null")); more != nil || r.Failed || !strings.Contains(r.Text, "you sent") {
			t.Errorf("after the login: %+v, it asks %+v", r, more)
		}
		a = b // of a process that has ended
	}
	nobody := turn.WithSaid(t.Context(), turn.Said{Nobody: true})
	s.Lock()
	s.Wants = "docs:all"
	s.Unlock()
	if r, err := f.Call(nobody, turn.Scope{}, who, nil, json.RawMessage("{}")); err != nil || !r.Failed || !strings.Contains(r.Text, "more rights (docs:all)") {
		t.Errorf("where nobody is: %+v, %v", r, err)
	}
	login()
	if got := strings.Fields(s.Scope); !slices.Contains(got, "docs:write") || !slices.Contains(got, "docs:all") {
		t.Errorf("the second login asked for %q", got)
	}
	if s.Faults != nil {
		t.Errorf("the server found %q", s.Faults)
	}
}

// TestMCPLoginHostile: servers that send the login elsewhere or mix it up with
// another one's get nothing, and no error has a token.
func TestMCPLoginHostile(t *testing.T) {
	reached := false
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer inside.Close()
	for _, tt := range []struct{ how, want string }{
		{"another issuer", "issuer"},
		{"another iss", "issuer"},
		{"a no", "access_denied"},
		{"a page that is none", "file:///"},
		{"tokens elsewhere", "loopback address"},
		{"no PKCE", "PKCE"},
	} {
		t.Run(tt.how, func(t *testing.T) {
			s, dir := authserver.New(t, tt.how), t.TempDir()
			s.Redirect = inside.URL
			_, err := poolOf(t, s, dir).Login(t.Context(), turn.Scope{}, "docs", LoginForm{Open: browser})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("the error is %v, want %q", err, tt.want)
			}
			s.Hides(t, err.Error())
			if keys, err := rootfs.In(dir).Keys(); err != nil || len(keys) > 0 {
				t.Errorf("kept are %v, %v", keys, err)
			}
		})
	}
	if reached {
		t.Error("an inside address was reached")
	}
}

// TestMCPLogout: a login is forgotten whatever the server answers, and no token is sent to another
// address.
func TestMCPLogout(t *testing.T) {
	for _, how := range []string{"no revocation", "revokes nothing", "revokes elsewhere", "tokens elsewhere now", "gone"} {
		t.Run(how, func(t *testing.T) {
			s, dir := authserver.New(t, ""), t.TempDir()
			elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if r.ParseForm() == nil && r.Form.Get("token") != "" {
					t.Errorf("the token went to %s", r.Host)
				}
			}))
			defer elsewhere.Close()
			p := poolOf(t, s, dir)
			if _, err := p.Login(t.Context(), turn.Scope{}, "docs", LoginForm{Open: browser}); err != nil {
				t.Fatal(err)
			}
			s.Lock()
			s.How, s.Redirect = how, elsewhere.URL
			if how == "tokens elsewhere now" {
				s.How = "tokens elsewhere"
			}
			s.Unlock()
			if how == "gone" {
				s.Close()
			}
			out, err := p.Logout(t.Context(), "docs")
			if err != nil || !out.Was || out.Revoked || (out.Failed == nil) != (how == "no revocation") || s.Revoked != 0 {
				t.Errorf("%+v, %v", out, err)
			}
			if out.Failed != nil {
				s.Hides(t, out.Failed.Error())
			}
			if out, err := p.Logout(t.Context(), "docs"); err != nil || out.Was {
				t.Errorf("again: %+v, %v", out, err)
			}
		})
	}
}
