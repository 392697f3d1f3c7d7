// Package transport is shared by the HTTP adapters of pkg/llm: it sends a request under an idle
// and a total time limit, reads lines and server-sent events, reports errors as [llm.Error], and
// tidies tool calls.
//
// It knows no provider's format; that is the adapters' part. It never retries: the engine does.
package transport

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/pkg/llm"
)

// A Body is a request body in parts that are sent one after the other without
// being joined.
type Body [][]byte

// A bodyReader reads parts one after the other. An io.MultiReader would
// allocate 32 KB for each request, for the HTTP client to see that it is at
// its end.
type bodyReader struct{ rest Body }

func (r *bodyReader) Read(p []byte) (int, error) {
	n := 0
	for len(r.rest) > 0 && n < len(p) {
		k := copy(p[n:], r.rest[0])
		n += k
		if r.rest[0] = r.rest[0][k:]; len(r.rest[0]) == 0 {
			r.rest = r.rest[1:]
		}
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (b Body) reader() io.ReadCloser { return io.NopCloser(&bodyReader{slices.Clone(b)}) }

// Len returns the body's size in bytes.
func (b Body) Len() int {
	n := 0
	for _, part := range b {
		n += len(part)
	}
	return n
}

// A Reply is an answer with a status of success whose body is still to be read. The
// caller closes it.
type Reply struct {
	Type  string // media type in lower case, without parameters
	Watch *Watch
	e     *Endpoint
	body  io.ReadCloser
	r     io.Reader
}

// Read reads the body; it fails when the answer grows out of all bounds.
func (r *Reply) Read(p []byte) (int, error) { return r.r.Read(p) }

// beginning is the size of a buffer through which the first bytes of an answer are looked at: what
// reads the answer has one of its own.
const beginning = 512

// Events reports whether the answer is a stream of events, or of lines with an object each,
// judging by its first bytes rather than its type. usual decides if these fit neither a stream nor
// JSON, and it is an error if the type does not either.
func (r *Reply) Events(usual bool) (bool, error) {
	b := bufio.NewReaderSize(r.r, beginning)
	defer func() { r.r = b }()
	first, err := peekPast(b, "\xef\xbb\xbf\x1e") // a byte order mark, the sign before a text of a sequence
	switch field, _ := b.Peek(len("event:")); {
	case err != nil: // a later read has it, too
		return usual, nil
	case first == '{':
		lines, all := objectALine(b)
		for size := 4 << 10; !all && size <= 64<<10; size *= 4 {
			b = bufio.NewReaderSize(b, size)
			lines, all = objectALine(b)
		}
		return lines, nil
	case first == '[':
		return false, nil
	case first == '<':
		return false, r.e.page()
	case first == ':', bytes.HasPrefix(field, []byte("data:")), bytes.HasPrefix(field, []byte("event:")), bytes.HasPrefix(field, []byte("id:")), bytes.HasPrefix(field, []byte("retry:")):
		return true, nil
	}
	switch r.Type {
	case "text/event-stream", "text/plain", "application/octet-stream", "":
		return usual, nil
	case "application/json", "application/problem+json":
		return false, nil
	}
	return false, r.e.wrongType(r.Type)
}

// peekPast discards blanks and the bytes in also, and returns the byte behind them.
func peekPast(b *bufio.Reader, also string) (byte, error) {
	for {
		first, err := b.Peek(1)
		if err != nil {
			return 0, err
		}
		if strings.IndexByte(" \t\r\n"+also, first[0]) < 0 {
			return first[0], nil
		}
		_, _ = b.Discard(1)
	}
}

// objectALine reports whether the first line is an object and another line begins behind it. It
// waits for that line, which a stream has soon. all is false if that takes more than b can hold.
func objectALine(b *bufio.Reader) (lines, all bool) {
	line, at := -1, 0 // the length of the line, and what has been looked at
	for n := max(1, b.Buffered()); ; n++ {
		got, err := b.Peek(n)
		for ; at < len(got); at++ {
			switch c := got[at]; {
			case line < 0 && c == '\n':
				if line = at; !json.Valid(got[:line]) {
					return false, true
				}
			case line >= 0 && strings.IndexByte(" \t\r\n\x1e", c) < 0:
				return c == '{' || c == 'd' || c == ':' || c == '[', true
			}
		}
		if err != nil {
			return false, !errors.Is(err, bufio.ErrBufferFull)
		}
		n = max(n, b.Buffered())
	}
}

// Close ends the request.
func (r *Reply) Close() error {
	r.Watch.stop()
	return r.body.Close()
}

// All reads a body that is not a stream.
func (r *Reply) All() ([]byte, error) {
	b, err := io.ReadAll(touching{r})
	if err != nil {
		return nil, r.Broken(err, "")
	}
	if len(bytes.TrimSpace(b)) == 0 {
		return nil, r.e.Error(llm.Garbled, "the answer is empty")
	}
	return b, nil
}

type touching struct{ r *Reply }

func (t touching) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	if n > 0 {
		t.r.Watch.Touch()
	}
	return n, err
}

// Get asks for path and returns the whole answer.
func (e *Endpoint) Get(ctx context.Context, path string) ([]byte, error) {
	r, err := e.send(ctx, http.MethodGet, path, nil, true)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return r.All()
}

// Post sends body to path. The silence before the answer's first byte counts
// against the idle limit only for a stream: other answers come all at once.
// Errors are [llm.Error]s, except that a done ctx gives its own error.
func (e *Endpoint) Post(ctx context.Context, path string, body Body, stream bool) (*Reply, error) {
	return e.send(ctx, http.MethodPost, path, body, stream)
}

func (e *Endpoint) send(ctx context.Context, method, path string, body Body, stream bool) (*Reply, error) {
	req, err := http.NewRequestWithContext(ctx, method, e.Base+path, nil)
	if err != nil {
		return nil, e.Error(llm.BadRequest, "the base URL cannot be used: "+inner(err).Error())
	}
	return e.Do(req, body, stream)
}

// Do sends body, nil for none, in a request that somebody else made, under the
// endpoint's limits and with its headers. It is otherwise as [Endpoint.Post].
func (e *Endpoint) Do(req *http.Request, body Body, stream bool) (*Reply, error) {
	w := newWatch(req.Context(), e.Idle, e.Total, stream && !e.patient, e.patient)
	req = req.WithContext(w.ctx)
	if body != nil {
		req.Body = body.reader()
		req.GetBody = func() (io.ReadCloser, error) { return body.reader(), nil }
		req.ContentLength = int64(body.Len())
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("User-Agent", "adroit")
	req.Header.Set("Accept-Encoding", "gzip") // so that the client leaves the body to Decoded
	if e.Key != "" {
		req.Header.Set("Authorization", "Bearer "+e.Key)
	}
	for k, v := range e.Headers {
		req.Header.Set(k, v)
	}
	if e.query != "" {
		req.URL.RawQuery = strings.Trim(e.query+"&"+req.URL.RawQuery, "&")
	}
	resp, err := e.HTTP.Do(req)
	if err != nil {
		err = e.lost(w, err, "")
		w.stop()
		return nil, err
	}
	w.Touch()
	resp.Body = Decoded(resp)
	media, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	r := &Reply{
		Type:  strings.ToLower(strings.TrimSpace(media)),
		Watch: w,
		e:     e,
		body:  resp.Body,
		r:     &bounded{r: resp.Body, left: maxAnswer},
	}
	if resp.StatusCode/100 == 2 { // Portkey's 246 is an answer whose checks failed
		if r.Type == "text/html" {
			r.Close()
			return nil, e.page()
		}
		return r, nil
	}
	defer r.Close()
	// What arrives of an error's text is used, whether or not it is whole.
	// Ollama puts a tool call that it could not parse into one, whole.
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return nil, e.refused(resp, text)
}

// Broken returns the error for a failure to read an answer. had describes how far it got; "" means
// not at all.
func (r *Reply) Broken(err error, had string) error { return r.e.lost(r.Watch, err, had) }

// An Endpoint is a server and the manners to observe with it. It is safe for
// concurrent use once filled in.
type Endpoint struct {
	Name    string // for errors
	Base    string // URL without a trailing slash
	Key     string // sent as a bearer token, "" for none
	Headers map[string]string
	HTTP    *http.Client  // nil: a client of its own, with the environment's proxies
	Idle    time.Duration // the longest silence, 0: five minutes, negative: no limit
	Total   time.Duration // the longest request, 0: thirty minutes, negative: no limit

	query   string // of each request
	patient bool   // there is no limit before the first byte
}

// doubled are the slashes of an address that was put together of parts, behind the scheme.
var doubled = lazyregexp.New(`([^:/])//+`)

// Address splits a base URL into the URL without the path of a request, which servers' messages
// and documentation often include, and its query. An address without a scheme gets https, and http
// if it is on this machine or in its network.
func Address(s string) (base, query string) {
	s, _, _ = strings.Cut(pasted(s), "#")
	base, query, _ = strings.Cut(s, "?")
	base = strings.TrimRight(base, "/")
	for _, tail := range []string{"/chat/completions", "/messages", "/responses", "/completions", "/api/chat"} {
		base = strings.TrimRight(strings.TrimSuffix(base, tail), "/")
	}
	if m := otherPath.FindStringSubmatch(base); m != nil {
		base = m[1]
	}
	return doubled.ReplaceAllString(schemed(base), "$1/"), query
}

// Shown returns an address for people: without the user name and password in it, of which a name
// alone can be a token, and without the values of its query, except a version of the API. It need
// not be an address that can be read.
func Shown(address string) string {
	at := strings.Index(address, "//") + len("//")
	if at < len("//") {
		at = 0
	}
	end := at + len(address[at:])
	if path := strings.IndexAny(address[at:], "/?#"); path >= 0 && Unusable(address) == "" {
		end = at + path
	}
	if user := strings.LastIndex(address[at:end], "@"); user >= 0 {
		address = address[:at] + "xxxxx" + address[at+user:]
	}
	base, query, asks := strings.Cut(address, "?")
	if !asks {
		return address
	}
	values := strings.Split(query, "&")
	for i, v := range values {
		if name, _, named := strings.Cut(v, "="); !named {
			values[i] = "xxxxx" // a key alone
		} else if name != "api-version" {
			values[i] = name + "=xxxxx"
		}
	}
	return base + "?" + strings.Join(values, "&")
}

// hostAlone is a host without a scheme: with a port, with a dot, an address in brackets, or this
// machine.
var hostAlone = lazyregexp.New(`^(?://)?((?i:localhost)|\[[0-9A-Fa-f:.]+\](?::[0-9]+)?|[\pL0-9][\pL0-9._-]*:[0-9]+|[\pL0-9][\pL0-9-]*(?:\.[\pL0-9-]+)+)(/|$)`)

// schemed puts a scheme before an address that has none.
func schemed(base string) string {
	m := hostAlone.FindStringSubmatch(base)
	if m == nil {
		return base
	}
	base = strings.TrimPrefix(base, "//")
	if local("http://" + m[1]) {
		return "http://" + base
	}
	return "https://" + base
}

// unsendable names a character that a header can not have, "" if there is none.
func unsendable(s string) string {
	switch i := strings.IndexFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }); {
	case i < 0:
		return ""
	case s[i] == '\n' || s[i] == '\r':
		return "the end of a line"
	}
	return "a control character"
}

// Unusable describes what is wrong with the scheme, host or port of an address, "" if nothing is.
func Unusable(address string) string {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return "cannot be read: " + inner(err).Error()
	case u.Scheme != "http" && u.Scheme != "https":
		return "must start with http:// or https://"
	case u.Hostname() == "":
		return "names no host"
	case strings.HasSuffix(u.Host, ":"):
		return "names no port behind the colon"
	}
	if n, err := strconv.ParseUint(u.Port(), 10, 16); u.Port() != "" && (err != nil || n == 0) {
		return "names the port " + u.Port() + ", which no server has"
	}
	return ""
}

// Local reports whether an address is on this machine or in its network.
func Local(base string) bool {
	base, _ = Address(base)
	return local(base)
}

func local(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	host := u.Hostname()
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast()
	}
	return host != "" && (!strings.Contains(host, ".") || strings.HasSuffix(host, ".local") || strings.HasSuffix(host, ".localhost") || strings.HasSuffix(host, ".internal"))
}

// Ready checks the endpoint and fills in missing fields. Base may be an address as people copy it:
// with blanks, quotes, the path of a request or a query around it.
func (e *Endpoint) Ready() error {
	base, query := Address(e.Base)
	if bad := Unusable(base); bad != "" {
		return fmt.Errorf("%s: base URL %q %s", e.Name, Shown(base), bad)
	}
	e.Base, e.query = base, query
	e.Key = Secret(e.Key)
	bad := unsendable(e.Key)
	if i := strings.IndexFunc(e.Key, func(r rune) bool { return r == ' ' || r > '~' }); i >= 0 && bad == "" {
		bad = fmt.Sprintf("the character %U", []rune(e.Key[i:])[0])
	}
	if bad != "" {
		return fmt.Errorf("%s: the key has %s inside, which no key has", e.Name, bad)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Headers)) {
		if bad := unsendable(strings.TrimSpace(e.Headers[name])); bad != "" {
			return fmt.Errorf("%s: the header %s has %s inside, which no header can carry", e.Name, name, bad)
		}
	}
	// The kernel notices when a program on this machine, or its machine in the same network, is
	// gone. Until then one that sends nothing loads the model or reads the prompt, however long
	// that takes.
	e.patient = e.Idle == 0 && e.Total == 0 && Local(base)
	e.Idle = cmp.Or(e.Idle, defaultIdle)
	e.Total = cmp.Or(e.Total, defaultTotal)
	client := new(http.Client)
	if e.HTTP != nil {
		*client = *e.HTTP
	} else {
		// Not the default client: a test or another library may change that.
		own := http.DefaultTransport.(*http.Transport).Clone()
		// All requests go to one host: with the default of two kept
		// connections, many agents would open a new one for each turn.
		own.MaxIdleConns, own.MaxIdleConnsPerHost = 0, 1024
		own.Proxy = func(r *http.Request) (*url.URL, error) { return proxyOf(r.URL) }
		client.Transport = own
	}
	// Following a redirect would turn the POST into a GET, and a key meant
	// for one host would be asked for by another.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	e.HTTP = client
	return nil
}

const (
	// MaxLine bounds a line of a stream and the data of one event.
	MaxLine = 16 << 20
	// maxAnswer bounds a whole answer, so that a runaway server cannot take
	// all memory.
	maxAnswer = 64 << 20
	// maxText bounds the part of a server's text that an error repeats.
	maxText = 2 << 10

	defaultIdle  = 5 * time.Minute // a local model may load and read a long prompt first
	defaultTotal = 30 * time.Minute
	// trailerTimeout bounds the wait for the usage and the end of the stream after an answer is
	// complete.
	trailerTimeout = 5 * time.Second
)

// Decoded is the body of a response without its encodings, which the bytes tell: servers and
// proxies in front of them name one that is not there, leave one out, or encode twice.
func Decoded(resp *http.Response) io.ReadCloser {
	return &decoder{of: strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding"))), body: resp.Body}
}

// A decoder looks at the body when it is read, for then it is there.
type decoder struct {
	of   string
	body io.ReadCloser
	r    io.Reader
	err  error
}

func (d *decoder) Close() error { return d.body.Close() }

func (d *decoder) Read(p []byte) (int, error) {
	if d.r == nil && d.err == nil {
		d.r, d.err = d.open()
	}
	if d.err != nil {
		return 0, d.err
	}
	return d.r.Read(p)
}

// plainly are the first two bytes of what is not encoded, whatever the header says.
var plainly = []string{"{\"", "{ ", "{\n", "{\r", "{\t", "[{", "[ ", "[\n", "da", "ev", "id", "re", ": ", "\x1e{", "\xef\xbb", "\n{", "\r\n", "<!", "<h"}

func (d *decoder) open() (io.Reader, error) {
	b := bufio.NewReaderSize(d.body, beginning)
	var head []byte
	for range 3 { // twice is what proxies do; more would be a bomb
		var err error
		if head, err = b.Peek(2); err == io.EOF {
			return b, nil
		} else if err != nil {
			return nil, err
		}
		if head[0] != 0x1f || head[1] != 0x8b {
			break
		}
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, err
		}
		b = bufio.NewReader(z)
	}
	switch {
	case d.of == "" || d.of == "identity" || strings.HasSuffix(d.of, "gzip") || slices.Contains(plainly, string(head)):
		return b, nil
	case d.of != "deflate":
		return nil, fmt.Errorf("%w: %q", errEncoded, d.of)
	case head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0:
		return zlib.NewReader(b)
	}
	return flate.NewReader(b), nil // what some servers take deflate for
}

var errEncoded = errors.New("the answer has an encoding that nobody asked for")

var errHuge = errors.New("the answer is larger than 64 MB")

type bounded struct {
	r    io.Reader
	left int
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errHuge
	}
	if len(p) > b.left {
		p = p[:b.left]
	}
	n, err := b.r.Read(p)
	b.left -= n
	return n, err
}

var (
	errIdle  = errors.New("idle limit")
	errTotal = errors.New("total limit")
)

// A Watch ends a request that is silent for too long or takes too long.
type Watch struct {
	parent context.Context
	ctx    context.Context
	cancel context.CancelCauseFunc
	idle   *time.Timer // nil: no limit
	total  *time.Timer // nil: no limit
	limit  time.Duration
	whole  time.Duration
	lazy   bool // the idle limit starts with the first Touch
	late   bool // the total limit does too
}

func newWatch(parent context.Context, idle, total time.Duration, now, late bool) *Watch {
	ctx, cancel := context.WithCancelCause(parent)
	w := &Watch{parent: parent, ctx: ctx, cancel: cancel, limit: idle, whole: total, lazy: !now, late: late}
	if idle > 0 && now {
		w.idle = time.AfterFunc(idle, func() { cancel(errIdle) })
	}
	if total > 0 && !late {
		w.total = time.AfterFunc(total, func() { cancel(errTotal) })
	}
	return w
}

// Touch reports that real data arrived: comments and blank lines do not count.
func (w *Watch) Touch() {
	if w.late && w.total == nil && w.whole > 0 {
		w.total = time.AfterFunc(w.whole, func() { w.cancel(errTotal) })
	}
	switch {
	case w.idle != nil:
		w.idle.Reset(w.limit)
	case w.lazy && w.limit > 0:
		w.idle = time.AfterFunc(w.limit, func() { w.cancel(errIdle) })
	}
}

// Finish reports that the answer is complete and only its tail may still come.
func (w *Watch) Finish() {
	if w.limit <= 0 || w.limit > trailerTimeout {
		w.limit, w.lazy = trailerTimeout, true
	}
	w.Touch()
}

func (w *Watch) stop() {
	if w.idle != nil {
		w.idle.Stop()
	}
	if w.total != nil {
		w.total.Stop()
	}
	w.cancel(nil)
}
