package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/jsontext"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A wire inspects the messages between here and a server: it records the progress and outcome of
// calls, and passes on what servers send in the form that the library accepts. A part of an answer
// that violates the protocol is no reason to lose the rest. It is safe for concurrent use.
type wire struct {
	calls   *calls
	changed func() // called when the server announces other tools

	mu    sync.Mutex
	asked map[string]request // that wait for an answer, by id as text
	wants []byte             // the refusal of the first request
	other string             // the first text that is no message, where no call was answered
	newer string             // the revision that the server supports, if it is not known here
	ends  map[string]request // whose answers are streams, by the last event of each
}

// A request identifies a request that was sent.
type request struct {
	id     json.RawMessage
	method string
	call   *openCall // of a tool; nil for others
}

// envelope has the fields that are read of an outgoing message.
type envelope struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Meta struct {
			Token any `json:"progressToken"`
		} `json:"_meta"`
	}
}

// sends notes a message that is about to be sent; the request is empty unless it is one.
func (w *wire) sends(message []byte) (q request) {
	var m envelope
	if json.Unmarshal(message, &m) != nil || m.Method == "" || len(m.ID) == 0 {
		return q
	}
	q = request{id: m.ID, method: m.Method}
	if token, ok := m.Params.Meta.Token.(string); ok && m.Method == "tools/call" {
		q.call = w.calls.byID(token)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked[idText(m.ID)] = q
	return q
}

// idText returns the same text for an ID and for the variants that servers make of it: 1, "1" and
// 1.0.
func idText(id json.RawMessage) string {
	return strings.TrimSuffix(strings.Trim(string(id), `"`), ".0")
}

// answered returns the request that an answer belongs to.
func (w *wire) answered(id json.RawMessage) (request, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	q, ok := w.asked[idText(id)]
	delete(w.asked, idText(id))
	maps.DeleteFunc(w.ends, func(_ string, of request) bool { return ok && string(of.id) == string(q.id) })
	return q, ok
}

// onlyCall returns the only request that waits for an answer, if it is a call.
func (w *wire) onlyCall() (q request, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, q = range w.asked {
	}
	if ok = len(w.asked) == 1 && q.call != nil; ok {
		delete(w.asked, idText(q.id))
	}
	return q, ok
}

// receives returns a message in the form that the library accepts; ok is false for text that is
// not a message. A message that needs nothing further becomes empty: the library takes a large
// buffer and a goroutine for each, and some servers send tens of thousands.
func (w *wire) receives(message []byte) (out []byte, ok bool) {
	message = bytes.TrimSpace(message)
	if len(message) > 0 && message[0] == '[' {
		return w.batch(message)
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(message, &m) != nil {
		return nil, false
	}
	var name string
	if json.Unmarshal(m["method"], &name) == nil && name != "" {
		m["method"] = jsontext.Quote(name) // without the escapes that some servers write
	}
	method, id, result, fault := m["method"], m["id"], m["result"], m["error"]
	isNull := func(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }
	switch {
	case string(m["jsonrpc"]) != `"2.0"` && isNull(method) && (isNull(id) || result == nil && fault == nil):
		return nil, false // a line of a log, for one
	case string(method) == `"notifications/tools/list_changed"`:
		w.changed()
	}
	if w.notice(m) {
		return nil, true
	}
	if string(method) == `"elicitation/create"` {
		m["params"] = withSchema(m["params"])
	}
	m["jsonrpc"] = json.RawMessage(`"2.0"`)
	q, asked := request{}, false
	switch {
	case isNull(method) && isNull(id) && !(isNull(fault) && isNull(result)):
		// It does not say which request it answers. That is clear only if one call waits, and the
		// outcome of one that could not be read is unknown.
		if q, asked = w.onlyCall(); !asked {
			return nil, false
		}
		q.note(func(d *delivery) { d.nameless = !isNull(fault) })
	case isNull(method):
		if q, asked = w.answered(id); !asked {
			return nil, true // an answer to nothing, or the second one
		}
	}
	if asked {
		m["id"] = q.id
		if isNull(fault) {
			delete(m, "error")
			m["result"] = withSchemas(q.result(result))
			w.answers(q, m["result"])
		} else {
			delete(m, "result")
			m["error"] = q.fault(fault)
			w.refuses(q, fault)
		}
	}
	out, err := json.Marshal(m)
	return out, err == nil
}

// schemaMeta is the metadata in which the schema of a question reaches [calls.elicit] as the server wrote it: its
// fields are asked in their order, which the library's value lacks.
const schemaMeta = "adroit.run/schema"

func withSchema(params json.RawMessage) json.RawMessage {
	var p, meta map[string]json.RawMessage
	if json.Unmarshal(params, &p) != nil || p["requestedSchema"] == nil {
		return params
	}
	if json.Unmarshal(p["_meta"], &meta) != nil || meta == nil {
		meta = map[string]json.RawMessage{}
	}
	meta[schemaMeta] = jsontext.Quote(string(p["requestedSchema"]))
	p["_meta"], _ = json.Marshal(meta) // what was read can be written
	out, _ := json.Marshal(p)
	return out
}

// withSchemas is withSchema for a result in which a server asks, as later revisions have it.
func withSchemas(result json.RawMessage) json.RawMessage {
	var r map[string]json.RawMessage
	var asks map[string]map[string]json.RawMessage
	if !bytes.Contains(result, []byte(`"inputRequests"`)) || json.Unmarshal(result, &r) != nil || json.Unmarshal(r["inputRequests"], &asks) != nil {
		return result
	}
	for _, a := range asks {
		if a["params"] != nil {
			a["params"] = withSchema(a["params"])
		}
	}
	r["inputRequests"], _ = json.Marshal(asks) // what was read can be written
	out, _ := json.Marshal(r)
	return out
}

// refuses notes the refusal of a request that begins a connection.
func (w *wire) refuses(q request, text []byte) {
	if q.method != "initialize" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wants = bytes.Clone(text)
}

// passes notes text that is no message, in the answer to what is no call.
func (w *wire) passes(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.other = cmp.Or(w.other, text[:min(len(text), maxNoise)])
}

// passed returns the first text that was no message.
func (w *wire) passed() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.other
}

// at notes the last event in the answer to a request, of which another was the last before.
func (w *wire) at(before, id string, q request) string {
	if q.id == nil {
		return id
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ends == nil {
		w.ends = map[string]request{}
	}
	delete(w.ends, before)
	w.ends[id] = q
	return id
}

// resumes returns the request whose answer is to go on behind an event; it is empty if that has come.
func (w *wire) resumes(id string) request {
	w.mu.Lock()
	defer w.mu.Unlock()
	q := w.ends[id]
	if _, waits := w.asked[idText(q.id)]; !waits {
		return request{}
	}
	return q
}

// answers notes the revision in the answer to a handshake, if it is not known here.
func (w *wire) answers(q request, result json.RawMessage) {
	var is struct{ ProtocolVersion string }
	if q.method == "initialize" && json.Unmarshal(result, &is) == nil && !slices.Contains(sdk.SupportedProtocolVersions(), is.ProtocolVersion) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.newer = is.ProtocolVersion
	}
}

// unknown returns the revision that the server supports and nobody here, "" if it is known.
func (w *wire) unknown() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.newer
}

// otherRevision returns the newest revision that the refusal of a connection names, is known here
// and begins with a handshake, but for the refused one; "" if there is none.
func (w *wire) otherRevision(refused string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, v := range sdk.SupportedProtocolVersions() { // newest first
		if v <= legacyRevision && v != cmp.Or(refused, legacyRevision) && bytes.Contains(w.wants, []byte(v)) {
			return v
		}
	}
	return ""
}

// notice reports whether a message is a notice that needs nothing further: one of progress,
// which it shows, and those that nobody here heeds or that receives has seen to.
func (w *wire) notice(m map[string]json.RawMessage) bool {
	if _, request := m["id"]; request {
		return false
	}
	switch string(m["method"]) {
	case `"notifications/progress"`:
		var p *sdk.ProgressNotificationParams
		if json.Unmarshal(m["params"], &p) != nil || p == nil {
			return false
		}
		w.calls.progress(context.Background(), &sdk.ProgressNotificationClientRequest{Params: p})
		return true
	case `"notifications/message"`, `"notifications/tools/list_changed"`, `"notifications/prompts/list_changed"`, `"notifications/resources/list_changed"`, `"notifications/resources/updated"`:
		return true
	}
	return false
}

// message returns a received text as the library accepts it, repaired if need be, or a substitute
// for an answer that cannot be read; ok is false for a text that is not a message.
func (w *wire) message(text []byte) (out []byte, ok bool) {
	if !utf8.Valid(text) { // in the character set of an old system, or with a broken character
		if t, reason := rootfs.Decode(text); reason == "" {
			text = []byte(t.Content)
		}
	}
	if out, ok = w.receives(text); ok || json.Valid(text) {
		return out, ok
	}
	if out, ok = w.receives(repairJSON(text)); ok {
		return out, true
	}
	return w.broken(text)
}

// batch handles several messages at once.
func (w *wire) batch(message []byte) ([]byte, bool) {
	var list, out []json.RawMessage
	if json.Unmarshal(message, &list) != nil {
		return nil, false
	}
	some := false
	for _, m := range list {
		one, ok := w.receives(m)
		if some = some || ok; ok && len(one) > 0 && m[0] == '{' {
			out = append(out, one)
		}
	}
	if out == nil {
		return nil, some
	}
	b, err := json.Marshal(out)
	return b, err == nil
}

// broken returns a substitute for an answer that is not JSON, with the received text as its text,
// if the call that it answers is known.
func (w *wire) broken(message []byte) ([]byte, bool) {
	if !bytes.HasPrefix(bytes.TrimSpace(message), []byte("{")) || !bytes.Contains(message, []byte(`"jsonrpc"`)) {
		return nil, false
	}
	var at string
	if m := idIn.FindSubmatch(message); m != nil {
		at = idText(m[1])
	}
	w.mu.Lock()
	q, ok := w.asked[at]
	if !ok && len(w.asked) == 1 {
		for _, q = range w.asked {
			ok = true
		}
	}
	if ok = ok && q.call != nil; ok {
		delete(w.asked, idText(q.id))
	}
	w.mu.Unlock()
	if !ok {
		return nil, false
	}
	q.note(func(d *delivery) { d.unreadable = true })
	out, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": q.id, "result": textResult(rootfs.Visible(string(message)))})
	return out, err == nil
}

// fault returns an error in the form that the library accepts.
func (q request) fault(raw json.RawMessage) json.RawMessage {
	var e struct {
		Code    int64           `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data,omitempty"`
	}
	var code string
	if json.Unmarshal(raw, &e) == nil {
		code = strconv.FormatInt(e.Code, 10)
	} else {
		e.Code, e.Message, e.Data = jsonrpc.CodeInternalError, jsontext.Text(raw), nil
		var loose struct{ Code, Message json.RawMessage }
		if json.Unmarshal(raw, &loose) == nil && len(loose.Message) > 0 {
			code, e.Message = jsontext.Text(loose.Code), jsontext.Text(loose.Message)
		}
	}
	answer := e.Message
	if data := string(e.Data); data != "" && data != "null" {
		answer = strings.TrimPrefix(answer+"; "+jsontext.Text(e.Data), "; ")
	}
	q.note(func(d *delivery) { d.failed, d.code, d.answer = true, code, answer })
	b, err := json.Marshal(e)
	if err != nil {
		return raw
	}
	return b
}

func textPart(text string) json.RawMessage {
	return json.RawMessage(`{"type":"text","text":` + string(jsontext.Quote(text)) + `}`)
}

func textResult(text string) json.RawMessage {
	return json.RawMessage(`{"content":[` + string(textPart(text)) + `]}`)
}

// part returns one part of an answer in the form that the library accepts. A part of unknown type
// is shown as text.
func part(raw json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil || fields == nil {
		return textPart(jsontext.Text(raw))
	}
	if again := reshape(raw); again != nil && decodes(textless(again)) {
		return again
	}
	if decodes(textless(raw)) {
		return raw
	}
	for _, name := range []string{"annotations", "_meta", "icons", "size"} {
		delete(fields, name) // they decide nothing
	}
	if again, err := json.Marshal(fields); err == nil && decodes(textless(again)) {
		return again
	}
	kind := jsontext.Text(fields["type"])
	delete(fields, "type")
	if text, ok := fields["text"]; ok && (kind == "" || kind == "text") {
		return textPart(jsontext.Text(text))
	}
	shown := string(raw)
	if len(fields) == 1 {
		for _, only := range fields {
			shown = jsontext.Text(only)
		}
	}
	return textPart(fmt.Sprintf("[a part of the kind %q]\n%s", kind, shown))
}

// textless returns a result with one part.
func textless(part json.RawMessage) json.RawMessage {
	return json.RawMessage(`{"content":[` + string(part) + `]}`)
}
