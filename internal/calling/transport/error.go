package transport

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/pkg/llm"
)

// Error makes an error of kind in the endpoint's name. Secrets that found
// their way into message are taken out of it.
func (e *Endpoint) Error(kind llm.ErrorKind, message string) *llm.Error {
	return &llm.Error{Kind: kind, Provider: e.Name, Message: e.plain(message), Hint: e.hint(kind)}
}

// Reported returns the error for an error object, or a plain text, that the server sent inside an
// answer with status 200.
func (e *Endpoint) Reported(object []byte) *llm.Error {
	said := read(object)
	for status := 400; status < 600 && said.status == 0; status++ { // in the words of HTTP alone
		if strings.EqualFold(said.text, http.StatusText(status)) {
			said.status = status
		}
	}
	words := said.words(string(object))
	if said.status == 0 && reason(strings.ToLower(words)).has("overloaded_error") {
		said.status = 529 // Anthropic's for it
	}
	kind, denied := classify(said.status, words, 0)
	kind = cmp.Or(kind, llm.Overloaded)
	err := e.Error(kind, "the server reports: "+said.text)
	err.Status = said.status
	e.cause(err, said, denied)
	err.Window = windowIn(err, said.text, object)
	return err
}

// ErrorIn returns the error in a piece of an answer with status 200, or nil.
func (e *Endpoint) ErrorIn(data []byte) error {
	if bytes.Contains(data, []byte(`"choices"`)) && !bytes.Contains(data, []byte(`"error"`)) && !bytes.Contains(data, []byte(`"base_resp"`)) {
		return nil
	}
	var in struct {
		Object  string          `json:"object"`
		Error   json.RawMessage `json:"error"`
		Choices json.RawMessage `json:"choices"`
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
		Msg     json.RawMessage `json:"msg"`
		Base    struct {
			Code int `json:"status_code"`
		} `json:"base_resp"`
	}
	var list []json.RawMessage // Gemini's
	if json.Unmarshal(data, &list) == nil && len(list) > 0 {
		data = list[0]
	}
	words := func(raw json.RawMessage) bool { return len(raw) > 2 && raw[0] == '"' }
	if json.Unmarshal(data, &in) == nil && (in.Object == "error" || len(in.Error) > 0 && string(in.Error) != "null" || in.Base.Code != 0 ||
		in.Choices == nil && (words(in.Message) || words(in.Detail) || words(in.Msg))) { // of a gateway
		return e.Reported(data)
	}
	return nil
}

// ErrorText is the cause of an error that a server reported: its full text,
// for adapters that read more from it than a message for people. It may hold
// the model's output, so Error does not repeat it.
type ErrorText string

func (ErrorText) Error() string { return "the server reported it" }

// A Generation is the cause of an error about a tool call that a server could not parse: the text
// that the model wrote.
type Generation string

func (Generation) Error() string { return "the model wrote a call that the server could not parse" }

// cause sets the cause of err and, where that is not its kind, a hint of its own.
func (e *Endpoint) cause(err *llm.Error, said reported, denied Denial) {
	switch {
	case denied != "":
		err.Err, err.Hint = denied, denied.hint(e.host())
	case said.generation != "":
		err.Err = Generation(said.generation)
	case err.Kind == llm.TooLong && reason(strings.ToLower(said.text)).inBytes(err.Status):
		err.Err = tooManyBytes{}
		err.Hint = e.host() + ", or a proxy before it, limits the bytes of a request, whatever the model's window: raise that limit, or begin a shorter conversation"
	case err.Kind == llm.TooLong && (err.Status == 413 || err.Status == 429) && !statedWindow.MatchString(strings.ToLower(said.text)):
		err.Err = LimitOfRate{}
	default:
		err.Err = ErrorText(said.text)
	}
}

// refused returns the error for an answer whose status is not 200.
func (e *Endpoint) refused(resp *http.Response, body []byte) *llm.Error {
	said := read(body)
	wait := cmp.Or(retryAfter(resp.Header), waiting(resp.Header, string(body)))
	against := challenge(resp.Header)
	status := resp.StatusCode
	if status == http.StatusInternalServerError && said.status/100 == 4 {
		status = said.status // of the server behind it
	}
	kind, denied := classify(status, strings.TrimSpace(said.words(string(body))+" "+against), wait)
	kind = cmp.Or(kind, llm.BadRequest)
	if kind == llm.Auth && looksHTML(body) {
		denied = notTheAPI
	}
	err := e.Error(kind, said.text)
	err.Status = resp.StatusCode
	e.cause(err, said, denied)
	if kind == llm.Auth && denied == "" && against != "" && !strings.Contains(said.text, against) {
		err.Hint = e.plain(fmt.Sprintf("%s refused the key of %s (%s); check it and the account", e.host(), e.Name, against))
	}
	switch {
	case resp.StatusCode/100 == 3:
		e.redirect(err, resp.Header.Get("Location"))
	case looksHTML(body):
		err.Message = "the server answers with a web page"
	case strings.TrimSpace(said.text) == "":
		err.Message = e.plain(cmp.Or(against, strings.ToLower(http.StatusText(resp.StatusCode)), "the request was refused without a reason"))
	}
	if strings.Contains(said.text, "HTTP request to an HTTPS server") || strings.Contains(said.text, "plain HTTP request was sent to HTTPS port") {
		err.Hint = "the base URL must begin with https://"
	}
	if kind == llm.BadRequest && (resp.StatusCode == 404 || resp.StatusCode == 405) {
		err.Hint = "check the base URL: the server has no such path"
		if resp.Request != nil && resp.Request.URL != nil {
			err.Hint = e.plain("check the base URL: the server has nothing at " + resp.Request.URL.Path)
		}
	}
	err.Window = windowIn(err, said.text, body)
	if err.RetryAfter = retryAfter(resp.Header); err.RetryAfter == 0 && (kind == llm.RateLimit || kind == llm.Overloaded) {
		err.RetryAfter = wait
	}
	return err
}

// redirect completes the error for a redirect, which is not followed: the key is for one server.
func (e *Endpoint) redirect(err *llm.Error, location string) {
	err.Message = "the server answers with a redirect, which is not followed"
	base, berr := url.Parse(e.Base)
	to, uerr := url.Parse(strings.TrimSpace(location))
	if berr != nil || uerr != nil || location == "" {
		return
	}
	if to = base.ResolveReference(to); to.Host == base.Host && to.Scheme == base.Scheme {
		err.Hint = e.plain("it points to " + to.Path + " on the same server: set the base URL accordingly; a login page there wants another address or key")
		return
	}
	there := to.Scheme + "://" + to.Host
	err.Message = e.plain("the server answers with a redirect to " + there + ", which is not followed: nothing was sent there, nor was the key")
	err.Hint = e.plain("set the base URL to the place it points to, on " + there)
}

// challenge returns what a server's WWW-Authenticate headers have against a request, "" for
// nothing.
func challenge(h http.Header) string {
	code, words := "", ""
	for _, f := range challenged.FindAllStringSubmatch(strings.Join(h.Values("WWW-Authenticate"), ", "), 8) {
		value := strings.Join(strings.Fields(cmp.Or(strings.ReplaceAll(f[2], `\`, ""), f[3])), " ")
		if strings.EqualFold(f[1], "error") {
			code = cmp.Or(code, value)
		} else {
			words = cmp.Or(words, value)
		}
	}
	return cmp.Or(words, code)
}

var challenged = lazyregexp.New(`(?i)\b(error(?:_description)?)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))`)

// Unexplained reports whether a provider refused a request for a reason that is not known: it may
// take it in another form, or a shorter one.
func Unexplained(err *llm.Error) bool {
	return err.Kind == llm.BadRequest && err.Status >= 400 && err.Status != 404 && err.Status != 405
}

// page returns the error for a web page with status 200.
func (e *Endpoint) page() *llm.Error {
	err := e.Error(llm.Garbled, "the answer is a web page, not a model's")
	err.Hint = "check the base URL; a login page or a proxy may have answered"
	return err
}

// Foreign returns the error for an answer in the form of another protocol.
func (e *Endpoint) Foreign(form, asked string) *llm.Error {
	err := e.Error(llm.Garbled, "the answer is in the form of "+form+", not of "+asked)
	err.Hint = "check the base URL, which is on " + e.host() + ", and the dialect of the endpoint"
	return err
}

// wrongType returns the error for an answer of an unexpected media type.
func (e *Endpoint) wrongType(media string) *llm.Error {
	err := e.Error(llm.Garbled, fmt.Sprintf("the answer has content type %q, and is neither a stream nor JSON", media))
	err.Hint = "check the base URL"
	return err
}

// lost names a failure to reach the server or to read from it.
func (e *Endpoint) lost(w *Watch, err error, had string) error {
	if perr := w.parent.Err(); perr != nil {
		return fmt.Errorf("%s: %w", e.Name, context.Cause(w.parent))
	}
	after := ""
	if had != "" {
		after = " after " + had
	}
	switch cause := context.Cause(w.ctx); {
	case errors.Is(cause, errIdle):
		out := e.Error(llm.Timeout, fmt.Sprintf("no data for %s%s", w.limit, after))
		out.Hint, out.Err = "", errIdle
		return out
	case errors.Is(cause, errTotal):
		out := e.Error(llm.Timeout, fmt.Sprintf("the answer took longer than %s", w.whole))
		out.Hint, out.Err = "ask for less at once", errTotal
		return out
	}
	err = inner(err)
	proxy := proxyWords(e.Base)
	if proxy != "" {
		proxy = "the request goes through " + proxy + ": check that, also its user and password, or name the server's host in NO_PROXY"
	}
	var out *llm.Error
	var timeout interface{ Timeout() bool }
	var name *net.DNSError
	switch {
	case errors.As(err, &name):
		// Also if it took too long: nobody was asked anything.
		out = e.Error(llm.Unreachable, "the address of "+name.Name+" cannot be found: "+name.Err)
		out.Hint = cmp.Or(proxy, "check the name in the base URL, and the network")
	case errors.Is(err, ErrLine), errors.Is(err, errHuge), errors.Is(err, errEncoded):
		out = e.Error(llm.Garbled, err.Error())
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		out = e.Error(llm.Cut, "the connection ended before the answer was complete"+after)
		if had == "" {
			out.Hint = cmp.Or(proxy, e.host()+" closed the connection before it answered: see its log, and check the scheme and port of the base URL")
		}
	case errors.As(err, &timeout) && timeout.Timeout():
		out = e.Error(llm.Timeout, err.Error())
	case had != "":
		out = e.Error(llm.Cut, "the connection failed"+after+": "+err.Error())
	default:
		out = e.Error(llm.Unreachable, err.Error())
		out.Hint = reachHint(e.Name, e.host(), proxy, err)
	}
	out.Err = err
	return out
}

// inner strips the URL, which may hold a key, from a client error.
func inner(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

func (e *Endpoint) hint(kind llm.ErrorKind) string {
	switch kind {
	case llm.Auth:
		return fmt.Sprintf("%s refused the key of %s; check it and the account", e.host(), e.Name)
	case llm.NoModel:
		return "see what there is with: " + hint.Command("models list")
	case llm.TooLong:
		return "shorten the conversation or use a larger window"
	case llm.Unreachable: // 407
		if proxy := proxyWords(e.Base); proxy != "" {
			return "the request goes through " + proxy + ": put its user and password there, or name the server's host in NO_PROXY"
		}
	}
	return ""
}

// host returns the server's scheme and host, without the path, which may contain a key.
func (e *Endpoint) host() string { return e.plain(Host(e.Base)) }

// Host returns the scheme and the host of a base URL, without user and path, which may contain a
// key.
func Host(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return "the server"
	}
	return u.Scheme + "://" + u.Host
}

// plain takes secrets out of s and bounds it.
func (e *Endpoint) plain(s string) string {
	hide := func(secret string) {
		if len(secret) >= 6 {
			s = strings.ReplaceAll(s, secret, "[redacted]")
		}
	}
	hide(e.Key)
	for _, v := range e.Headers {
		hide(strings.TrimPrefix(v, "Bearer "))
	}
	s = strings.TrimSpace(strings.ToValidUTF8(s, "\ufffd"))
	if len(s) <= maxText {
		return s
	}
	cut := maxText
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + " …"
}

// reported is a server's error, read from any of the shapes in use.
type reported struct {
	text, code, typ string
	status          int    // from inside the object, 0 if not there
	generation      string // what the model wrote, if the server reports it
}

// words returns the text that decides the kind of the error: message, code, type, and
// relevant fields beside them.
func (s reported) words(body string) string {
	words := s.code + " " + s.typ + " " + s.text
	// Codes such as AccountOverdueError and NOT_ENOUGH_BALANCE have words, too.
	if parts := wordEnds.ReplaceAllString(s.code+" "+s.typ, "$1 $2"); parts != s.code+" "+s.typ {
		words += "\n" + strings.ReplaceAll(parts, "_", " ")
	}
	if m := quotaID.FindStringSubmatch(body); m != nil {
		words += " " + m[1]
	}
	if strings.Contains(body, `"signin_url"`) { // Ollama's
		words += " signin_url"
	}
	return words
}

var wordEnds = lazyregexp.New(`([a-z])([A-Z])|([a-zA-Z])_([a-zA-Z])`)

var quotaID = lazyregexp.New(`"quotaId":\s*"([A-Za-z-]+)"`)

func read(body []byte) reported {
	var o struct {
		Error   json.RawMessage `json:"error"`
		Errors  json.RawMessage `json:"errors"` // Cloudflare's, watsonx's
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
		Msg     json.RawMessage `json:"msg"`
		Type    string          `json:"type"`
		Code    json.RawMessage `json:"code"`
		Reason  json.RawMessage `json:"reason"`
		Details json.RawMessage `json:"details"` // Google's
		Meta    json.RawMessage `json:"metadata"`
		Failed  string          `json:"failed_generation"`
		Base    struct {
			Code    int    `json:"status_code"`
			Message string `json:"status_msg"`
		} `json:"base_resp"`
	}
	body = bytes.TrimPrefix(body, []byte("\ufeff"))
	if json.Unmarshal(body, &o) != nil {
		var list []json.RawMessage // Gemini's
		if json.Unmarshal(body, &list) == nil && len(list) > 0 {
			return read(list[0])
		}
		var s string
		if json.Unmarshal(body, &s) == nil {
			return reported{text: s}
		}
		return reported{text: string(body)}
	}
	if o.Base.Code != 0 { // MiniMax's
		return reported{text: o.Base.Message, code: strconv.Itoa(o.Base.Code)}
	}
	var several []json.RawMessage
	if json.Unmarshal(o.Errors, &several) == nil && len(several) > 0 && len(o.Error) == 0 {
		o.Error = several[0]
	}
	if len(o.Error) > 0 && string(o.Error) != "null" {
		in := read(o.Error)
		// Servers in front of servers put one error object into another's
		// text.
		if strings.HasPrefix(strings.TrimSpace(in.text), "{") {
			if deep := read([]byte(in.text)); deep.text != in.text {
				return deep
			}
		}
		return in
	}
	out := reported{typ: o.Type, code: strings.Trim(string(o.Code), `"`), generation: o.Failed}
	if n, err := strconv.Atoi(out.code); err == nil && n >= 400 && n < 600 {
		out.status = n
	}
	out.typ = strings.TrimSpace(out.typ + " " + reasons(o.Reason, o.Details))
	for _, raw := range []json.RawMessage{o.Message, o.Detail, o.Msg} {
		var s string
		switch {
		case len(raw) == 0 || string(raw) == "null":
			continue
		case json.Unmarshal(raw, &s) == nil:
			out.text = s
		case raw[0] == '{':
			out.text = read(raw).text
		default:
			out.text = string(raw)
		}
		if deep := behind(o.Meta); deep != "" {
			out.text += ": " + deep
		}
		return out
	}
	out.text = string(body)
	return out
}

// reasons returns the machine-readable reasons beside an error's text.
func reasons(reason, details json.RawMessage) string {
	var one string
	var list []struct {
		Reason string `json:"reason"`
	}
	_ = json.Unmarshal(reason, &one) // "" for what is none
	_ = json.Unmarshal(details, &list)
	for _, d := range list {
		one += " " + d.Reason
	}
	return strings.TrimSpace(one)
}

// behind returns what the server behind a gateway answered, as OpenRouter hands it on, or "".
func behind(metadata json.RawMessage) string {
	var in struct {
		Raw json.RawMessage `json:"raw"`
	}
	if json.Unmarshal(metadata, &in) != nil || len(in.Raw) == 0 || string(in.Raw) == "null" {
		return ""
	}
	var text string
	if json.Unmarshal(in.Raw, &text) != nil {
		text = string(in.Raw)
	}
	return strings.TrimSpace(read([]byte(text)).text)
}

// retryAfter returns the time that the server asks to wait, at most [longestWait]. The caller has
// a bound of its own; the error reports the time asked for.
func retryAfter(h http.Header) time.Duration {
	seconds := math.NaN()
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		seconds = ms / 1000
	} else if v := strings.TrimSpace(h.Get("Retry-After")); v != "" {
		first, _, _ := strings.Cut(v, ", ") // a proxy may add its own
		if n, err := strconv.ParseFloat(first, 64); err == nil {
			seconds = n
		} else if d, err := time.ParseDuration(first); err == nil {
			seconds = d.Seconds()
		} else if at, err := http.ParseTime(v); err == nil {
			seconds = time.Until(at).Seconds()
		}
	}
	switch {
	case math.IsNaN(seconds) || seconds <= 0:
		return 0
	case seconds >= longestWait.Seconds():
		return longestWait
	}
	return time.Duration(seconds * float64(time.Second))
}

func looksHTML(body []byte) bool {
	s := strings.ToLower(strings.TrimSpace(string(body[:min(len(body), 512)])))
	return strings.HasPrefix(s, "<!doctype html") || strings.HasPrefix(s, "<html")
}
