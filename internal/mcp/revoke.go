package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

// revokeTime bounds the time that revoking a login may take.
const revokeTime = 15 * time.Second

// A Logout is how a logout has ended.
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
