package api

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/stored"
	"github.com/adroit-run/adroit/internal/system/lock"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
)

// A Token is given to somebody by a data directory's owner.
type Token struct {
	adroit.Authority
	Hash string    `json:"sha256"` // of the secret, which is nowhere
	Made time.Time `json:"made"`
}

// Tokens manages the tokens of a data directory. Each call reads the file again if it has changed, so that a
// server notices at once what another process has done. It is safe for concurrent use.
type Tokens struct {
	path string

	mu    sync.Mutex
	read  []Token
	state os.FileInfo // of the file as it was read
}

// NewTokens returns the tokens of the data directory dir.
func NewTokens(dir string) *Tokens { return &Tokens{path: filepath.Join(dir, rootfs.TokensName)} }

// List returns the tokens by name.
func (t *Tokens) List() ([]Token, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now, err := os.Lstat(t.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		t.read, t.state = nil, nil
		return []Token{}, nil
	case err != nil:
		return nil, err
	case t.state != nil && os.SameFile(t.state, now) && t.state.Size() == now.Size() && t.state.ModTime().Equal(now.ModTime()):
		return slices.Clone(t.read), nil
	}
	t.read, t.state = nil, nil
	b, err := rootfs.ReadPrivate(t.path, "its tokens are")
	if err != nil {
		return nil, err
	}
	var list []Token
	if err := stored.Decode(b, &list); err != nil {
		return nil, fmt.Errorf("%s cannot be read, so no token of it is taken: %w", t.path, err)
	}
	t.read, t.state = list, now
	return slices.Clone(list), nil
}

// Add makes a token, and returns its secret, which is kept nowhere.
func (t *Tokens) Add(a adroit.Authority) (secret string, err error) {
	if err := checkAuthority(&a); err != nil {
		return "", err
	}
	secret = rand.Text()
	return secret, t.change(func(list []Token) ([]Token, error) {
		if slices.ContainsFunc(list, func(o Token) bool { return o.Name == a.Name }) {
			return nil, problem.Invalidf(hint.Command("serve token revoke %s", a.Name)+" takes it back", "there is a token %s already", a.Name)
		}
		list = append(list, Token{Authority: a, Hash: hash(secret), Made: time.Now().UTC().Truncate(time.Second)})
		slices.SortFunc(list, func(a, b Token) int { return cmp.Compare(a.Name, b.Name) })
		return list, nil
	})
}

// Revoke removes a token: the next request with it is refused.
func (t *Tokens) Revoke(name string) error {
	return t.change(func(list []Token) ([]Token, error) {
		left := slices.DeleteFunc(slices.Clone(list), func(o Token) bool { return o.Name == name })
		if len(left) == len(list) {
			return nil, &problem.Error{Kind: problem.NotFound, Message: fmt.Sprintf("there is no token %q", name), Hint: hint.Command("serve token") + " lists them"}
		}
		return left, nil
	})
}

func (t *Tokens) change(do func([]Token) ([]Token, error)) error {
	if err := rootfs.MkdirAll(filepath.Dir(t.path)); err != nil {
		return err
	}
	unlock, err := lock.Open(t.path + ".lock")
	if err != nil {
		return fmt.Errorf("keeping tokens: %w", err)
	}
	defer unlock()
	list, err := t.List()
	if err == nil {
		list, err = do(list)
	}
	if err != nil {
		return err
	}
	return rootfs.WriteJSON(t.path, list)
}

// find returns what the holder of a secret may do, nil if there is none.
func (t *Tokens) find(secret string) *adroit.Authority {
	if t == nil || secret == "" {
		return nil
	}
	list, err := t.List()
	if err != nil {
		return nil
	}
	given := hash(secret)
	for i := range list {
		if subtle.ConstantTimeCompare([]byte(given), []byte(list[i].Hash)) == 1 {
			return &list[i].Authority
		}
	}
	return nil
}

func hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// checkAuthority checks what a new token is for, and resolves its roots.
func checkAuthority(a *adroit.Authority) error {
	plain := func(r rune) bool {
		return r != '-' && r != '_' && r != '.' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}
	switch {
	case a.Name == "" || len(a.Name) > 64 || strings.ContainsFunc(a.Name, plain):
		return problem.Invalidf("it is at most 64 letters, digits, dots, - and _", "%q cannot be the name of a token", a.Name)
	case a.Name == owner:
		return problem.Invalidf("choose another name", "%s is who runs the server", owner)
	case len(a.Scopes) == 0:
		return problem.Invalidf("--scope read, run, answer or admin", "the token would have no scope")
	}
	for _, s := range a.Scopes {
		if !s.Known() {
			return problem.Invalidf("it is one of read, run, answer, admin", "there is no scope %q", s)
		}
	}
	for i, root := range a.Roots {
		info, err := os.Stat(root)
		if err != nil || !info.IsDir() {
			return problem.Invalidf("name a directory that is there", "the root %s is no directory", root)
		}
		if a.Roots[i], err = rootfs.Real(root); err != nil {
			return err
		}
	}
	return nil
}

// owner is the name of who runs the server, who may do all.
const owner = "owner"

// A login lets a browser in: a link with a code that works once has it take the place of the owner, and
// a token that is typed in, of its holder. Both set a cookie, which no page's script can read and no
// other site's page sends.
type login struct {
	token  string
	tokens *Tokens

	mu    sync.Mutex
	codes map[string]time.Time // until when they work
}

// loginPath is the link's path.
const loginPath = "/login"

// codeTime is the lifetime of a login code.
const codeTime = 10 * time.Minute

// code returns a new code.
func (l *login) code() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.codes == nil {
		l.codes = map[string]time.Time{}
	}
	c := rand.Text()
	l.codes[c] = time.Now().Add(codeTime)
	return c
}

// use reports whether a code works, which it does not again.
func (l *login) use(code string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	until, ok := l.codes[code]
	delete(l.codes, code)
	return ok && time.Now().Before(until)
}

// session returns the cookie's value: of the owner, or of the token with a hash. It follows from the owner's
// token, so that it lasts longer than the server, and as long as both tokens; neither follows from it.
func (l *login) session(of string) string {
	m := hmac.New(sha256.New, []byte(l.token))
	m.Write([]byte("adroit session 1" + of))
	return hex.EncodeToString(m.Sum(nil))
}

// cookieName has the port, since browsers send a cookie to all ports of a host.
func cookieName(r *http.Request) string {
	_, port, _ := strings.Cut(strings.TrimPrefix(r.Host, "["), ":")
	if i := strings.LastIndex(r.Host, ":"); i >= 0 {
		port = r.Host[i+1:]
	}
	return "adroit_" + strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, port)
}

// serve answers the request of a link, or of the form for a token.
func (l *login) serve(w http.ResponseWriter, r *http.Request, secure bool) {
	session, refused := "", "the link has been used, or is older than ten minutes"
	switch r.Method {
	case http.MethodGet:
		if l.use(r.URL.Query().Get("code")) {
			session = l.session("")
		} else if l.who(r) != nil { // a link of before, in a browser that is known
			http.Redirect(w, r, "/", http.StatusSeeOther)
			return
		}
	case http.MethodPost:
		session, refused = l.typed(w, r), "the token is wrong or was taken back"
	}
	if session == "" {
		if strings.Contains(r.Header.Get("Accept"), "text/html") {
			serveEntrance(w, refused)
			return
		}
		refuse(w, http.StatusUnauthorized, refused, hint.Command("serve")+" prints another link when it starts; "+hint.Command("serve token")+" lists the tokens")
		return
	}
	http.SetCookie(w, &http.Cookie{Name: cookieName(r), Value: session, Path: "/", HttpOnly: true, Secure: secure, SameSite: http.SameSiteStrictMode, MaxAge: 30 * 24 * 3600})
	w.Header().Set("Referrer-Policy", "no-referrer")
	http.Redirect(w, r, "/", http.StatusSeeOther) // the code leaves the address bar
}

// maxForm bounds the form for a token in bytes.
const maxForm = 4 << 10

// typed is the session of the token that a form has, "" if nobody holds it. Only the page of this server
// may send the form: another site's would have a browser work with a token of its choice.
func (l *login) typed(w http.ResponseWriter, r *http.Request) string {
	if r.Header.Get("Origin") == "" || l.token == "" { // Guard has compared it
		return ""
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxForm))
	if err != nil {
		return ""
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return ""
	}
	given := strings.TrimSpace(form.Get("token"))
	if given != "" && subtle.ConstantTimeCompare([]byte(given), []byte(l.token)) == 1 {
		return l.session("")
	}
	if l.tokens.find(given) == nil {
		return ""
	}
	return l.session(hash(given))
}

// who returns the authority of the browser that sends a request by its cookie, nil if it is not known or the
// request comes from another site's page. A browser that does not report where a request comes from may only
// read.
func (l *login) who(r *http.Request) *adroit.Authority {
	c, err := r.Cookie(cookieName(r))
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin":
	case "none":
		if !reads {
			return nil
		}
	case "":
		if !reads && r.Header.Get("Origin") == "" { // which Guard has compared
			return nil
		}
	default:
		return nil
	}
	if err != nil || l.token == "" {
		return nil
	}
	holds := func(of string) bool { return subtle.ConstantTimeCompare([]byte(c.Value), []byte(l.session(of))) == 1 }
	if holds("") {
		return &adroit.Authority{Name: owner, Scopes: []adroit.TokenScope{adroit.ScopeAdmin}}
	}
	if l.tokens == nil {
		return nil
	}
	list, err := l.tokens.List()
	if err != nil {
		return nil
	}
	for _, t := range list {
		if holds(t.Hash) {
			return &t.Authority
		}
	}
	return nil
}

// scopeOf is the scope that a route needs.
func scopeOf(path string) adroit.TokenScope {
	if _, is := page()[path]; is || path == openAPIPath {
		return adroit.ScopeRead
	}
	switch strings.TrimPrefix(path, "/v1/") {
	case "events", "jobs/events", "jobs/list", "jobs/show", "jobs/wait", "jobs/artifacts", "jobs/file", "jobs/transcript", "failures/list", "failures/stats", "access", "jobs/resolve", "jobs/steps", "jobs/diff",
		"agents/list", "agents/show", "pipelines/list", "pipelines/show", "pipelines/read", "pipelines/schema", "skills/list", "skills/show", "lint", "tools/list", "servers/list", "models/list", "models/state",
		"memory/facts", "trust/show", "trust/list":
		return adroit.ScopeRead
	case "jobs/submit", "jobs/start", "jobs/stop", "jobs/send", "jobs/cancel", "jobs/retry", "jobs/undo", "jobs/merge", "servers/prompt", "models/check", "memory/remember":
		return adroit.ScopeRun
	case "jobs/signal":
		return adroit.ScopeAnswer
	}
	return adroit.ScopeAdmin
}

// Forbid answers a request that its token may not make.
func Forbid(w http.ResponseWriter, err error) { failWith(w, err, http.StatusForbidden) }

// allow refuses a request whose token lacks a scope.
func allow(need adroit.TokenScope, h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := adroit.AuthorityOf(r.Context()).Need(need); err != nil {
			fail(w, err)
			return
		}
		h(w, r)
	}
}

// pageFiles is the page as web/ builds it, in gzip; CI builds it again and compares what it unpacks to.
//
//go:embed all:page
var pageFiles embed.FS

// pagePolicy lets the page load and ask nothing but its own server, and nobody frame it.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; media-src 'self' data: blob:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// entrancePolicy lets a page send a form to this server, and do nothing else.
const entrancePolicy = "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// pageKinds are the types of the page's files; the system's table may have others.
var pageKinds = map[string]string{".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".md": "text/plain; charset=utf-8"}

// A pageFile is a file of the page, ready to be sent.
type pageFile struct {
	kind  string // Content-Type
	small []byte // in gzip
}

// page has the files of the page by the path of their address.
var page = sync.OnceValue(func() map[string]pageFile {
	all := map[string]pageFile{}
	err := fs.WalkDir(pageFiles, "page", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		small, err := pageFiles.ReadFile(name)
		name = strings.TrimSuffix(strings.TrimPrefix(name, "page"), ".gz")
		all[strings.TrimSuffix(name, "index.html")] = pageFile{pageKinds[path.Ext(name)], small}
		return err
	})
	if err != nil {
		panic(err) // the files are in the program
	}
	return all
})

// servePage answers with a file of the page. What lies in assets has a digest in its name and never changes.
func servePage(w http.ResponseWriter, r *http.Request) {
	f := page()[r.URL.Path]
	h := w.Header()
	pageHeaders(h)
	if strings.HasPrefix(r.URL.Path, "/assets/") {
		h.Set("Cache-Control", "private, max-age=31536000, immutable")
	}
	h.Set("Content-Type", f.kind)
	h.Add("Vary", "Accept-Encoding")
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		_, _ = w.Write(f.small) // who has gone needs none
		return
	}
	if body, err := gzip.NewReader(bytes.NewReader(f.small)); err == nil {
		_, _ = io.Copy(w, body)
	}
}

func pageHeaders(h http.Header) {
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// serveEntrance answers a browser that is not known with how it becomes known, and with why it was refused
// just now. A link from another site's page brings no cookie, so there is one to follow from here.
func serveEntrance(w http.ResponseWriter, refused string) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(refusedTime)) // else it takes longer
	w.Header().Set("Connection", "close")
	pageHeaders(w.Header())
	w.Header().Set("Content-Security-Policy", entrancePolicy)
	w.Header().Set("Referrer-Policy", "same-origin") // else the form comes without its origin
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(http.StatusUnauthorized)
	if refused != "" {
		refused = `<p role="alert"><strong>Refused:</strong> ` + refused + ".</p>"
	}
	fmt.Fprintf(w, `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"><title>adroit</title>
<main><h1>adroit</h1>%s<p>This browser is not known here. <code>%s</code> prints a link when it starts. The link works once, within ten minutes.</p>
<form method="post" action="%s"><p><label>Or enter a token: <input type="password" name="token" required autocomplete="off"></label> <button>Go on</button></p></form>
<p><a href="/">Open the page</a> if this browser has used one before.</p></main></html>
`, refused, hint.Name("serve"), loginPath)
}

// standing is who asks. Dir is empty where the server was started outside of repositories.
type standing struct {
	adroit.Authority
	Dir string `json:"dir,omitempty"`
}

func standingOf(ctx context.Context) standing {
	s := standing{Authority: adroit.Authority{Name: owner, Scopes: []adroit.TokenScope{adroit.ScopeAdmin}}}
	if a := adroit.AuthorityOf(ctx); a != nil {
		s.Authority = *a
	}
	if dir, err := os.Getwd(); err == nil && s.Need(adroit.ScopeAdmin) == nil && len(s.Roots) == 0 {
		if _, ok := rootfs.Repository(dir); ok {
			s.Dir = dir
		}
	}
	return s
}
