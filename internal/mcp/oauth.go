package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/system/lock"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A grant is the result of a login at a server, as it is kept in the file of keys. It is for one
// address: an entry that names another one does not have it.
type grant struct {
	URL    string        `json:"url"`
	Token  *oauth2.Token `json:"token"`
	Client struct {
		ID       string   `json:"id"`
		Secret   string   `json:"secret,omitempty"`
		TokenURL string   `json:"token_url"`
		Style    int      `json:"style,omitempty"`
		Scopes   []string `json:"scopes,omitempty"`
	} `json:"client"`
	Wanted []string `json:"wanted,omitempty"` // scopes that a call was refused for the lack of
}

// grantKey returns the name of a grant in the file of keys; no provider has it.
func grantKey(server string) string { return "mcp " + server }

// grant reads the result of a login at a server, or returns nil.
func (p *Pool) grant(name string, s Server) (*grant, error) {
	if s.URL == "" {
		return nil, nil
	}
	keys, err := p.o.Keys.Keys()
	if err != nil || keys[grantKey(name)] == "" {
		return nil, err
	}
	g := new(grant)
	if json.Unmarshal([]byte(keys[grantKey(name)]), g) != nil { // the error could quote it
		return nil, fmt.Errorf("the login at the MCP server %s cannot be read; %s makes it anew", name, hint.Command("mcp login %s", name))
	}
	if g.URL != s.URL || g.Token == nil {
		return nil, nil
	}
	return g, nil
}

// Tokens returns the secrets of an entry in the file of keys that belongs to a login at an MCP
// server, none for other entries.
func Tokens(name, value string) []string {
	g := new(grant)
	if !strings.HasPrefix(name, grantKey("")) || json.Unmarshal([]byte(value), g) != nil || g.Token == nil {
		return nil
	}
	return slices.DeleteFunc([]string{g.Token.AccessToken, g.Token.RefreshToken, g.Client.Secret}, func(s string) bool { return s == "" })
}

// keep writes a grant into the file of keys.
func (p *Pool) keep(name string, g *grant) error {
	b, err := json.Marshal(g)
	if err != nil {
		return err
	}
	return p.o.Keys.Set(grantKey(name), string(b))
}

// A kept renews the tokens of a login when they have expired, and stores them. It is safe for
// concurrent use, also by several processes.
type kept struct {
	p      *Pool
	name   string
	s      Server
	client *http.Client

	mu sync.Mutex
	g  *grant
}

// Token implements [oauth2.TokenSource].
func (k *kept) Token() (*oauth2.Token, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.g.Token.Valid() {
		return k.g.Token, nil
	}
	unlock, err := k.p.lockGrants()
	if err != nil {
		return nil, err
	}
	defer unlock()
	now, err := k.p.grant(k.name, k.s) // another process may have renewed it
	if err != nil {
		return nil, err
	}
	if now == nil {
		return nil, loginNeeded(k.name, "its login was forgotten")
	}
	if k.g = now; now.Token.Valid() {
		return now.Token, nil
	}
	if now.Token.RefreshToken == "" {
		return nil, loginNeeded(k.name, "its login has expired")
	}
	conf := oauth2.Config{ClientID: now.Client.ID, ClientSecret: now.Client.Secret, Scopes: now.Client.Scopes,
		Endpoint: oauth2.Endpoint{TokenURL: now.Client.TokenURL, AuthStyle: oauth2.AuthStyle(now.Client.Style)}}
	t, err := conf.TokenSource(context.WithValue(context.Background(), oauth2.HTTPClient, k.client), now.Token).Token()
	if refused := new(oauth2.RetrieveError); errors.As(err, &refused) {
		return nil, loginNeeded(k.name, "its login was not renewed ("+line(refused.ErrorCode)+")")
	}
	if err != nil {
		return nil, fmt.Errorf("renewing the login at the MCP server %s: %w", k.name, withoutBody(err))
	}
	next := *now
	next.Token = t
	k.g = &next
	return t, k.p.keep(k.name, &next)
}

// withoutBody removes from an error the server's answer, which may contain tokens.
func withoutBody(err error) error {
	first, _, _ := strings.Cut(err.Error(), "\n")
	return errors.New(line(first))
}

// lockGrants keeps other processes from renewing at the same time: a server may
// take a renewal by an old token for a theft.
func (p *Pool) lockGrants() (unlock func(), err error) {
	if err := os.MkdirAll(p.o.Dir, 0o700); err != nil {
		return nil, err
	}
	return lock.Open(filepath.Join(p.o.Dir, "login.lock"))
}

// loginNeeded returns the error for a server that wants a login.
func loginNeeded(name, why string) error {
	return problem.WithHint(fmt.Errorf("the MCP server %s wants a login: %s; %s", name, why, hint.Command("mcp login %s", name)), hint.Command("mcp login %s", name))
}

// loggedIn authorizes requests by a login that there has been. It makes none: a job
// opens no browser.
type loggedIn struct {
	p      *Pool
	name   string
	s      Server
	client *http.Client

	mu   sync.Mutex
	kept *kept // nil without a login
}

var _ auth.OAuthHandler = (*loggedIn)(nil)

// TokenSource implements [auth.OAuthHandler].
func (l *loggedIn) TokenSource(context.Context) (oauth2.TokenSource, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.kept == nil {
		return nil, nil
	}
	return l.kept, nil
}

// Authorize implements [auth.OAuthHandler]. A request that was refused is made once more, by a
// login that there has been since it was made.
func (l *loggedIn) Authorize(_ context.Context, req *http.Request, r *http.Response) error {
	defer r.Body.Close()
	now, err := l.p.grant(l.name, l.s)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if now != nil && req.Header.Get("Authorization") != now.Token.Type()+" "+now.Token.AccessToken {
		l.kept = &kept{p: l.p, name: l.name, s: l.s, client: l.client, g: now}
		return nil
	}
	if now == nil {
		return loginNeeded(l.name, "there was none"+saidOf(r))
	}
	if r.StatusCode != http.StatusForbidden {
		return loginNeeded(l.name, "the one that there is was refused"+saidOf(r))
	}
	challenges, _ := oauthex.ParseWWWAuthenticate(r.Header.Values("WWW-Authenticate")) // one that cannot be read names no scope
	for _, c := range challenges {
		if c.Scheme == "bearer" && c.Params["error"] == "insufficient_scope" {
			lacks := &scopesLacking{l.name, strings.Fields(line(c.Params["scope"]))}
			return errors.Join(l.want(now, lacks.scopes), lacks)
		}
	}
	return loginNeeded(l.name, "the one that there is does not suffice")
}

// saidOf returns what a server gives as the reason for a refusal, in brackets behind a blank, "" if
// nothing.
func saidOf(r *http.Response) string {
	said := ""
	challenges, _ := oauthex.ParseWWWAuthenticate(r.Header.Values("WWW-Authenticate")) // one that cannot be read says nothing
	for _, c := range challenges {
		said = cmp.Or(said, c.Params["error_description"])
	}
	if said == "" && r.StatusCode == http.StatusForbidden { // it may be no login that it wants
		text, _ := io.ReadAll(io.LimitReader(r.Body, maxRefusal)) // as far as it comes
		said = refusalText(text)
	}
	if said = line(said); said == "" {
		return ""
	}
	return fmt.Sprintf(" (status %d: %s)", r.StatusCode, said)
}

// want keeps scopes for the next login.
func (l *loggedIn) want(g *grant, scopes []string) error {
	next := *g
	if next.Wanted = union(g.Wanted, scopes); len(next.Wanted) == len(g.Wanted) {
		return nil
	}
	return l.p.keep(l.name, &next)
}

// union returns the texts of both lists, each once.
func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// scopesLacking reports that a login does not suffice for a request: the server has refused it
// before it began, and named the missing scopes.
type scopesLacking struct {
	name   string
	scopes []string
}

// Error implements error.
func (e *scopesLacking) Error() string {
	what := "more rights"
	if len(e.scopes) > 0 {
		what = "more rights (" + strings.Join(e.scopes, " ") + ")"
	}
	return fmt.Sprintf("the MCP server %s wants %s than its login has; %s asks for them", e.name, what, hint.Name("mcp login %s", e.name))
}

// Hint returns the command that helps.
func (e *scopesLacking) Hint() string { return hint.Command("mcp login %s", e.name) }

// authorization returns the handler that authorizes requests to a server, nil where its entry has
// an Authorization header.
func (p *Pool) authorization(name string, s Server, client *http.Client) (auth.OAuthHandler, error) {
	for header := range s.Headers {
		if http.CanonicalHeaderKey(header) == "Authorization" {
			return nil, nil
		}
	}
	if p.login != nil {
		return p.login(name, s, client)
	}
	g, err := p.grant(name, s)
	if err != nil {
		return nil, err
	}
	l := &loggedIn{p: p, name: name, s: s, client: client}
	if g != nil {
		l.kept = &kept{p: p, name: name, s: s, client: client, g: g}
	}
	return l, nil
}

// withoutTokens removes the tokens of a login from a server's result: the server may return what
// it was sent.
func (p *Pool) withoutTokens(name string, s Server, r tools.Result) tools.Result {
	g, err := p.grant(name, s)
	if err != nil || g == nil {
		return r
	}
	for _, token := range []string{g.Token.AccessToken, g.Token.RefreshToken} {
		if len(token) < 8 {
			continue
		}
		r.Text = strings.ReplaceAll(r.Text, token, "[a token]")
		for k, v := range r.Artifacts {
			r.Artifacts[k] = json.RawMessage(strings.ReplaceAll(string(v), token, "[a token]"))
		}
	}
	return r
}
