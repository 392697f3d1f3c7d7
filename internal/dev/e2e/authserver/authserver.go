// Package authserver is an MCP server that wants a login, with an authorization server of its own,
// for tests: it checks the requirements of OAuth 2.1 and misbehaves on request.
//
//	s := authserver.New(t, "")
//	// adroit mcp add docs --url s.URL+"/mcp"
package authserver

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Server is an MCP server that wants a login, with its authorization server. It checks the
// requirements of OAuth 2.1, and misbehaves as How states.
type Server struct {
	*httptest.Server
	How      string // it misbehaves
	Redirect string // where it sends requests for tokens then

	sync.Mutex          // guards what follows
	Access     string   // the token that is good now
	Expires    int      // seconds that new tokens are good
	Renewed    int      // how often tokens were renewed
	Revoked    int      // how often a login was revoked
	Faults     []string // of its clients
	Wants      string   // a scope that calls of tools need
	Scope      string   // those that were asked for last
	Called     int      // how often a tool was called

	codes   map[string]url.Values // requests of authorization by code
	refresh string
	secrets []string // all tokens and codes that there were
	clients []string
	handler http.Handler
}

// New starts a server, which misbehaves as how states, or not at all if how is "".
func New(t testing.TB, how string) *Server {
	t.Helper()
	s := &Server{How: how, codes: map[string]url.Values{}, Expires: 3600}
	server := sdk.NewServer(&sdk.Implementation{Name: "guarded", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "who", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}}, func(_ context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "you sent " + r.Extra.Header.Get("Authorization")}}}, nil, nil
	})
	s.handler = sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", s.mcp)
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, _ *http.Request) {
		s.json(w, map[string]any{"resource": s.URL + "/mcp", "authorization_servers": []string{s.URL}})
	})
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) { s.json(w, s.metadata()) })
	mux.HandleFunc("POST /register", func(w http.ResponseWriter, r *http.Request) {
		var in map[string]any
		_ = json.NewDecoder(r.Body).Decode(&in)
		s.Lock()
		id := fmt.Sprintf("client-%d", len(s.clients))
		s.clients = append(s.clients, id)
		s.Unlock()
		in["client_id"], in["token_endpoint_auth_method"] = id, "none"
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(in)
	})
	mux.HandleFunc("GET /authorize", s.authorize)
	mux.HandleFunc("POST /token", s.token)
	mux.HandleFunc("POST /revoke", s.revoke)
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func (s *Server) metadata() map[string]any {
	m := map[string]any{
		"issuer": s.URL, "authorization_endpoint": s.URL + "/authorize", "token_endpoint": s.URL + "/token", "registration_endpoint": s.URL + "/register", "revocation_endpoint": s.URL + "/revoke",
		"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"}, "authorization_response_iss_parameter_supported": true,
	}
	switch s.How {
	case "another issuer":
		m["issuer"] = "https://login.example.com"
	case "a page that is none":
		m["authorization_endpoint"] = "file:///etc/passwd"
	case "tokens elsewhere":
		m["token_endpoint"] = s.Redirect
	case "no revocation":
		delete(m, "revocation_endpoint")
	case "no PKCE":
		delete(m, "code_challenge_methods_supported")
	}
	return m
}

func (s *Server) json(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func (s *Server) mcp(w http.ResponseWriter, r *http.Request) {
	s.Lock()
	ok := s.Access != "" && r.Header.Get("Authorization") == "Bearer "+s.Access
	s.Unlock()
	if !ok {
		w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer resource_metadata="%s/.well-known/oauth-protected-resource/mcp"`, s.URL))
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	if strings.Contains(string(body), `"tools/call"`) {
		s.Lock()
		s.Called++
		lacks := s.Wants != "" && !slices.Contains(strings.Fields(s.Scope), s.Wants)
		s.Unlock()
		if lacks {
			w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer error="insufficient_scope", scope="%s", resource_metadata="%s/.well-known/oauth-protected-resource/mcp"`, s.Wants, s.URL))
			w.WriteHeader(http.StatusForbidden)
			return
		}
	}
	s.handler.ServeHTTP(w, r)
}

func (s *Server) secret() string {
	text := rand.Text()
	s.secrets = append(s.secrets, text)
	return text
}

func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	s.Lock()
	defer s.Unlock()
	q := r.URL.Query()
	back, err := url.Parse(q.Get("redirect_uri"))
	if err != nil || back.Hostname() != "127.0.0.1" || q.Get("code_challenge_method") != "S256" || q.Get("state") == "" || q.Get("resource") != s.URL+"/mcp" {
		s.Faults = append(s.Faults, "a bad request of authorization: "+r.URL.RawQuery)
	}
	code := s.secret()
	s.codes[code], s.Scope = q, q.Get("scope")
	out := url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {s.URL}}
	switch s.How {
	case "another iss":
		out.Set("iss", "https://login.example.com")
	case "a no":
		out = url.Values{"error": {"access_denied"}, "state": {q.Get("state")}}
	}
	back.RawQuery = out.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	s.Lock()
	defer s.Unlock()
	refuse := func(code string) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error":%q,"error_description":"no %s"}`, code, r.FormValue("refresh_token"))
	}
	switch r.FormValue("grant_type") {
	case "authorization_code":
		q := s.codes[r.FormValue("code")]
		delete(s.codes, r.FormValue("code"))
		sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		if q == nil || base64.RawURLEncoding.EncodeToString(sum[:]) != q.Get("code_challenge") || r.FormValue("redirect_uri") != q.Get("redirect_uri") {
			s.Faults = append(s.Faults, "a code without its verifier or redirect")
			refuse("invalid_grant")
			return
		}
	case "refresh_token":
		if r.FormValue("refresh_token") != s.refresh || s.How == "revoked" {
			refuse("invalid_grant")
			return
		}
		s.Renewed++
	default:
		refuse("unsupported_grant_type")
		return
	}
	s.Access, s.refresh = s.secret(), s.secret()
	s.json(w, map[string]any{"access_token": s.Access, "token_type": "Bearer", "expires_in": s.Expires, "refresh_token": s.refresh})
}

// revoke takes a login back (RFC 7009).
func (s *Server) revoke(w http.ResponseWriter, r *http.Request) {
	s.Lock()
	defer s.Unlock()
	switch {
	case s.How == "revokes nothing":
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	case s.How == "revokes elsewhere":
		http.Redirect(w, r, s.Redirect, http.StatusTemporaryRedirect)
		return
	case r.FormValue("token") != s.refresh || r.FormValue("client_id") == "":
		s.Faults = append(s.Faults, "a bad request of revocation")
	}
	s.Access, s.refresh = "", ""
	s.Revoked++
}

// Hides fails if a text has one of the tokens.
func (s *Server) Hides(t testing.TB, text string) {
	t.Helper()
	s.Lock()
	defer s.Unlock()
	for _, secret := range s.secrets {
		if strings.Contains(text, secret) {
			t.Errorf("it has a token: %s", text)
		}
	}
}
