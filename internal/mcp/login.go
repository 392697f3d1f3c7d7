package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/turn"
)

// loginTime bounds the time that a person has to log in.
const loginTime = 10 * time.Minute

// A LoginForm has the parameters of a login.
type LoginForm struct {
	// ClientID and ClientSecret are of a client that the server has registered
	// beforehand; an https address is a document that describes a client. Empty:
	// adroit registers itself.
	ClientID, ClientSecret string
	Port                   int // of the redirect; 0 for any
	// Open shows the user the page to log in at.
	Open func(address string) error
}

// Login has the user log in at a server, keeps the tokens and lists its tools.
func (p *Pool) Login(ctx context.Context, in turn.Scope, name string, form LoginForm) (*turn.Report, error) {
	s, err := p.entry(in, name)
	if err != nil {
		return nil, err
	}
	if s.URL == "" {
		return nil, problem.Invalidf("its command gets what it needs by env: in its entry", "the MCP server %s is a program; a login is for servers behind an address", name)
	}
	ctx, cancel := context.WithTimeout(ctx, loginTime)
	defer cancel()
	own, back, err := p.loggingIn(ctx, form)
	if err != nil {
		return nil, err
	}
	defer back.close()
	defer own.Close()
	r, err := own.Check(ctx, in, name, false)
	switch {
	case err != nil:
		return nil, err
	case back.logins.Load() == 0:
		return nil, problem.Invalidf(hint.Command("mcp check %s", name), "the MCP server %s asks for no login", name)
	}
	r.LoggedIn = true
	return r, nil
}

// loggingIn has the same servers as p, and logs in where one wants that.
func (p *Pool) loggingIn(ctx context.Context, form LoginForm) (*Pool, *callback, error) {
	back, err := listenBack(form.Port)
	if err != nil {
		return nil, nil, err
	}
	own := New(p.o)
	own.patience = loginTime
	own.login = func(name string, s Server, client *http.Client) (auth.OAuthHandler, error) {
		conf := own.loginConfig(name, s, client, form, back.redirect)
		before, err := own.grant(name, s)
		if err != nil {
			return nil, err
		}
		if before != nil && len(before.Wanted) > 0 { // and what it has, which it would lose
			conf.ScopeFilter = func(found []string) []string {
				return union(union(found, before.Client.Scopes), before.Wanted)
			}
		}
		conf.AuthorizationCodeFetcher = func(_ context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			back.logins.Add(1)
			return back.wait(ctx, args.URL, form.Open)
		}
		h, err := auth.NewAuthorizationCodeHandler(conf)
		if err != nil {
			return nil, err
		}
		return h, nil
	}
	return own, back, nil
}

// loginConfig configures a login by authorization code and PKCE.
func (p *Pool) loginConfig(name string, s Server, client *http.Client, form LoginForm, redirect string) *auth.AuthorizationCodeHandlerConfig {
	conf := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL: redirect, RequestRefreshToken: true, Client: client,
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "adroit", RedirectURIs: []string{redirect}, GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		}},
		NewTokenSource: func(_ context.Context, c *oauth2.Config, t *oauth2.Token) (oauth2.TokenSource, error) {
			g := &grant{URL: s.URL, Token: t}
			g.Client.ID, g.Client.Secret, g.Client.TokenURL, g.Client.Style, g.Client.Scopes = c.ClientID, c.ClientSecret, c.Endpoint.TokenURL, int(c.Endpoint.AuthStyle), c.Scopes
			if err := p.keep(name, g); err != nil {
				return nil, err
			}
			return &kept{p: p, name: name, s: s, client: client, g: g}, nil
		},
	}
	switch {
	case strings.HasPrefix(form.ClientID, "https://"):
		conf.ClientIDMetadataDocumentConfig = &auth.ClientIDMetadataDocumentConfig{URL: form.ClientID}
	case form.ClientID != "":
		conf.PreregisteredClient = &oauthex.ClientCredentials{ClientID: form.ClientID}
		if form.ClientSecret != "" {
			conf.PreregisteredClient.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: form.ClientSecret}
		}
	}
	return conf
}

// A callback receives the user's browser from the authorization server.
type callback struct {
	redirect string
	server   *http.Server
	came     chan url.Values
	state    chan string // of the login that is under way; has room for one
	logins   atomic.Int32
}

// listenBack listens on loopback, where no other machine reaches it.
func listenBack(port int) (*callback, error) {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("listening for the end of the login: %w", err)
	}
	c := &callback{redirect: "http://" + l.Addr().String() + "/callback", came: make(chan url.Values, 1), state: make(chan string, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /callback", c.serve)
	c.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = c.server.Serve(l) }() // ends with close
	return c, nil
}

func (c *callback) close() { _ = c.server.Close() }

// serve takes the answer with the right state. Any page may send the browser here:
// one without it is refused and changes nothing.
func (c *callback) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Referrer-Policy", "no-referrer")
	q := r.URL.Query()
	select {
	case want := <-c.state:
		if len(q["state"]) != 1 || q.Get("state") != want {
			c.state <- want
			break
		}
		c.came <- q
		fmt.Fprintln(w, "adroit has the answer. You can close this window.")
		return
	default:
	}
	w.WriteHeader(http.StatusBadRequest)
	fmt.Fprintln(w, "This is not the end of a login that adroit has begun.")
}

// wait shows the page of a login and waits for its answer.
func (c *callback) wait(ctx context.Context, address string, open func(string) error) (*auth.AuthorizationResult, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return nil, errors.New("the page to log in at is no web address")
	}
	select {
	case c.state <- u.Query().Get("state"):
	default:
		return nil, errors.New("a login is under way")
	}
	if err := open(address); err != nil {
		return nil, err
	}
	select {
	case q := <-c.came:
		if code := q.Get("error"); code != "" {
			return nil, fmt.Errorf("the login was refused: %s", line(cmp.Or(q.Get("error_description"), code)))
		}
		return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return nil, fmt.Errorf("nobody has logged in within %s", loginTime)
		}
		return nil, ctx.Err()
	}
}

// revokeTime bounds the time that revoking a login may take.
const revokeTime = 15 * time.Second

// A Logout is the result of a logout.
type Logout struct {
	Was     bool  // there was a login
	Revoked bool  // the server has revoked it
	Failed  error // why it has not, nil if it offers no revocation
}

// Logout forgets the tokens of a login at a server, and asks the server to revoke them if it
// supports that (RFC 7009): a backup may still contain them.
func (p *Pool) Logout(ctx context.Context, name string) (out Logout, err error) {
	s := p.o.Servers[name]
	g, err := p.grant(name, s)
	if err == nil && g != nil {
		ctx, cancel := context.WithTimeout(ctx, revokeTime)
		defer cancel()
		out.Revoked, out.Failed = p.revoke(ctx, s, g)
	}
	out.Was, err = p.o.Keys.Remove(grantKey(name))
	return out, err
}

// revoke asks the authorization server that gave a grant to revoke it; done is
// false without an error if it offers none.
func (p *Pool) revoke(ctx context.Context, s Server, g *grant) (done bool, err error) {
	client := p.networkGuard(s).Client()
	defer client.CloseIdleConnections()
	meta, err := auth.GetAuthServerMetadata(ctx, issuerOf(ctx, s.URL, client), client)
	switch {
	case err != nil:
		return false, errors.New(line(err.Error()))
	case meta == nil || meta.RevocationEndpoint == "":
		return false, nil
	case meta.TokenEndpoint != g.Client.TokenURL:
		return false, errors.New("the server names another authorization server than the one of the login") // which gets no tokens of it
	}
	form := url.Values{"token": {cmp.Or(g.Token.RefreshToken, g.Token.AccessToken)}, "token_type_hint": {"refresh_token"}}
	if g.Token.RefreshToken == "" {
		form.Set("token_type_hint", "access_token")
	}
	inHeader := oauth2.AuthStyle(g.Client.Style) == oauth2.AuthStyleInHeader
	if !inHeader {
		form.Set("client_id", g.Client.ID)
		if g.Client.Secret != "" {
			form.Set("client_secret", g.Client.Secret)
		}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, meta.RevocationEndpoint, strings.NewReader(form.Encode()))
	if err != nil {
		return false, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if inHeader {
		r.SetBasicAuth(url.QueryEscape(g.Client.ID), url.QueryEscape(g.Client.Secret))
	}
	// A redirect would get the token.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := client.Do(r)
	if err != nil {
		return false, errors.New(line(err.Error()))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return false, fmt.Errorf("the server answers with status %d", resp.StatusCode)
	}
	return true, nil
}

// issuerOf returns the authorization server of an address: the first that it names, or its own
// host.
func issuerOf(ctx context.Context, address string, client *http.Client) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	own := u.Scheme + "://" + u.Host
	for _, where := range []struct{ path, resource string }{{u.Path, address}, {"", own}} {
		const wellKnown = "/.well-known/oauth-protected-resource"
		m, err := oauthex.GetProtectedResourceMetadata(ctx, own+wellKnown+strings.TrimSuffix(where.path, "/"), where.resource, client)
		if err == nil && len(m.AuthorizationServers) > 0 {
			return m.AuthorizationServers[0]
		}
	}
	return own
}
