package triggers

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/tools"
)

// maxValue bounds what one value of a payload adds to a prompt, in bytes.
const maxValue = 64 << 10

// parsePath reads a path such as pull_request.labels[0].name, which may begin with $. as in
// JSONPath. "$" is the whole payload.
func parsePath(text string) (keys []string, err error) {
	rest := strings.TrimPrefix(strings.TrimPrefix(text, "$"), ".")
	if rest == "" && text != "$" {
		return nil, fmt.Errorf("the path %q is empty; $ is the whole payload", text)
	}
	for rest != "" {
		end := strings.IndexAny(rest, ".[")
		switch {
		case end < 0:
			return append(keys, rest), nil
		case end > 0:
			keys = append(keys, rest[:end])
		}
		at := rest[end]
		rest = rest[end+1:]
		if at == '[' {
			index, after, ok := strings.Cut(rest, "]")
			if _, err := strconv.ParseUint(index, 10, 16); !ok || err != nil || after != "" && after[0] != '.' && after[0] != '[' {
				return nil, fmt.Errorf("the path %q is no path such as pull_request.labels[0].name", text)
			}
			keys, rest = append(keys, index), strings.TrimPrefix(after, ".")
		} else if rest == "" || rest[0] == '.' || rest[0] == '[' || end == 0 {
			return nil, fmt.Errorf("the path %q is no path such as pull_request.labels[0].name", text)
		}
	}
	return keys, nil
}

// lookUp is the value at a path of a payload: a text as it is, anything else as JSON.
func lookUp(payload any, path string) (string, error) {
	keys, err := parsePath(path)
	if err != nil {
		return "", err
	}
	for _, key := range keys {
		switch v := payload.(type) {
		case map[string]any:
			next, ok := v[key]
			if !ok {
				return "", fmt.Errorf("the payload has nothing at %s", path)
			}
			payload = next
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(v) {
				return "", fmt.Errorf("the payload has nothing at %s", path)
			}
			payload = v[i]
		default:
			return "", fmt.Errorf("the payload has nothing at %s", path)
		}
	}
	if s, ok := payload.(string); ok {
		return s, nil
	}
	b, err := json.Marshal(payload)
	return string(b), err
}

// fill puts values into the places {{path}} of a text.
func fill(text string, value func(path string) (string, error)) (string, error) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "{{")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		path, after, closed := strings.Cut(rest, "}}")
		if !closed {
			return "", errors.New("{{ has no }} behind it")
		}
		path = strings.TrimSpace(path)
		if _, err := parsePath(path); err != nil {
			return "", err
		}
		v, err := value(path)
		if err != nil {
			return "", err
		}
		if len(v) > maxValue {
			return "", fmt.Errorf("the value at %s has more than %d bytes", path, maxValue)
		}
		b.WriteString(v)
		text = after
	}
}

// decodePayload reads JSON so that numbers stay as they were written.
func decodePayload(b []byte) (v any, err error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("the payload is no JSON: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("the payload does not end after its value")
	}
	return v, nil
}

// matches reports whether a payload has what a trigger wants.
func (t Trigger) matches(payload any) bool {
	for path, want := range t.When {
		got, err := lookUp(payload, path)
		if err != nil || !slices.Contains(want, got) {
			return false
		}
	}
	return true
}

// Request is the request that a trigger makes of a payload. What the payload has in it was
// written by others: in the prompt it is quoted as data, and the job is marked untrusted.
func (t Trigger) Request(name, home string, payload any) (adroit.Request, error) {
	r := adroit.Request{Target: t.Run, Title: "[" + name + "] " + t.Run}
	r.Dir, r.Model, r.ForAll, r.Mode, r.Approve, r.Worktree = expandHome(home, t.Dir), t.Model, t.Model != "", t.Mode, t.Approve, t.Worktree
	var err error
	r.Prompt, err = fill(t.Prompt, func(path string) (string, error) {
		r.Taint |= tools.Untrusted
		v, err := lookUp(payload, path)
		return turn.Quote(v, "from", "trigger "+name, "at", path), err
	})
	if err != nil {
		return r, err
	}
	for _, key := range slices.Sorted(maps.Keys(t.Inputs)) {
		v, err := fill(t.Inputs[key], func(path string) (string, error) { return lookUp(payload, path) })
		if err != nil {
			return r, fmt.Errorf("inputs.%s: %w", key, err)
		}
		raw, err := json.Marshal(v)
		if err != nil {
			return r, err
		}
		if r.Inputs == nil {
			r.Inputs = map[string]json.RawMessage{}
		}
		r.Inputs[key] = raw
		if v != t.Inputs[key] {
			r.Taint |= tools.Untrusted
		}
	}
	return r, nil
}

func expandHome(home, path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && home != "" {
		return strings.TrimSuffix(home, "/") + "/" + rest
	}
	return path
}

// signingKey decodes a secret: one that begins with whsec_ is base64.
func signingKey(secret string) []byte {
	if enc, ok := strings.CutPrefix(secret, "whsec_"); ok {
		b, err := base64.StdEncoding.DecodeString(enc)
		if err != nil {
			return nil
		}
		return b
	}
	return []byte(secret)
}

func mac(key []byte, parts ...string) []byte {
	h := hmac.New(sha256.New, key)
	for _, p := range parts {
		_, _ = io.WriteString(h, p) // a hash takes all
	}
	return h.Sum(nil)
}

// verify reports whether a request is signed with secret and recent, and by what a second request
// with the same content is known. Only what is signed counts as content.
func (w Webhook) verify(h http.Header, body []byte, secret string, now time.Time) (id string, ok bool) {
	key, content, at := signingKey(secret), string(body), ""
	var given [][]byte
	switch w.Scheme {
	case schemeGitHub:
		// docs.github.com/webhooks/using-webhooks/validating-webhook-deliveries: of the body alone, so
		// that X-GitHub-Delivery proves nothing.
		hexed, _ := strings.CutPrefix(h.Get("X-Hub-Signature-256"), "sha256=")
		given = append(given, unhex(hexed))
	case schemeStandard:
		// github.com/standard-webhooks/standard-webhooks, spec/standard-webhooks.md: v1, and the
		// HMAC-SHA256 of id.timestamp.body; several signatures are apart by blanks.
		id, at = h.Get("webhook-id"), h.Get("webhook-timestamp")
		content = id + "." + at + "." + content
		for one := range strings.FieldsSeq(h.Get("webhook-signature")) {
			if enc, ok := strings.CutPrefix(one, "v1,"); ok {
				b, _ := base64.StdEncoding.DecodeString(enc) // nil equals no signature
				given = append(given, b)
			}
		}
	case schemeHMAC:
		sig, _ := strings.CutPrefix(h.Get(w.Header), w.Prefix)
		if w.Encoding == "base64" {
			b, _ := base64.StdEncoding.DecodeString(sig)
			given = append(given, b)
		} else {
			given = append(given, unhex(sig))
		}
		if w.Timestamp != "" {
			at = h.Get(w.Timestamp)
		}
		if w.Signed != "" {
			content = strings.NewReplacer("{timestamp}", at, "{body}", content).Replace(w.Signed)
		}
	}
	want := mac(key, content)
	for _, g := range given {
		ok = hmac.Equal(g, want) || ok
	}
	if w.Scheme == schemeStandard || w.Timestamp != "" {
		ok = ok && recent(at, now)
	}
	if w.Scheme == schemeStandard && id == "" {
		ok = false
	}
	if id == "" {
		id = hex.EncodeToString(want[:16])
	} else {
		id = hex.EncodeToString(mac(nil, id)[:16])
	}
	return id, ok && len(key) > 0
}

func unhex(s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		return nil
	}
	return b
}

// recent reports whether Unix seconds are within the window around now.
func recent(at string, now time.Time) bool {
	sec, err := strconv.ParseInt(at, 10, 64)
	if err != nil {
		return false
	}
	off := now.Sub(time.Unix(sec, 0))
	return off <= window && off >= -window
}

// Path is the path of webhook requests, followed by the name of the trigger.
const Path = "/hooks/"

// bodyTime bounds the time to receive a request's body.
const bodyTime = 10 * time.Second

// ServeHTTP takes requests that sign themselves. One with a name that there is not and one with a
// wrong signature get the same answer.
func (e *Engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTime)) // else it takes longer
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		reply(w, http.StatusMethodNotAllowed, "send POST")
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		reply(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the request has more than %d bytes", maxBody))
		return
	case err != nil:
		reply(w, http.StatusBadRequest, "the request could not be read")
		return
	}
	name := strings.TrimPrefix(r.URL.Path, Path)
	t := e.o.Triggers[name]
	if t.Webhook.Scheme == "" {
		t = Trigger{Webhook: Webhook{Scheme: schemeGitHub}} // as long as for one that there is
	}
	id, ok := t.Webhook.verify(r.Header, body, e.o.Getenv(t.Webhook.SecretEnv), e.o.Now())
	if !ok {
		w.Header().Set("Connection", "close")
		reply(w, http.StatusUnauthorized, "there is no such trigger, or the signature is missing, wrong or too old")
		return
	}
	if len(t.Webhook.Events) > 0 && !slices.Contains(t.Webhook.Events, r.Header.Get("X-GitHub-Event")) {
		reply(w, http.StatusOK, "this event starts nothing")
		return
	}
	payload, err := decodePayload(body)
	if err != nil {
		reply(w, http.StatusBadRequest, err.Error()+"; choose application/json as the content type where the webhook is set up")
		return
	}
	switch err := e.fire(name, id, payload, 0); {
	case err == nil:
		reply(w, http.StatusAccepted, "the job starts")
	case errors.Is(err, errFiltered):
		reply(w, http.StatusOK, err.Error())
	case errors.Is(err, errRepeated):
		reply(w, http.StatusConflict, err.Error())
	case errors.Is(err, errFull), errors.Is(err, errElsewhere):
		reply(w, http.StatusServiceUnavailable, err.Error())
	default:
		e.o.Log("trigger %s: %v", name, err)
		reply(w, http.StatusUnprocessableEntity, err.Error())
	}
}

func reply(w http.ResponseWriter, code int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]string{"message": message}) // who has gone needs none
}
