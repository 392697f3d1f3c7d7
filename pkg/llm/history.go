package llm

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync"

	"github.com/adroit-run/adroit/internal/text/jsontext"
)

// An EncodedHistory caches the encoded messages and tools of one conversation
// in one provider's format, so that request n+1 encodes only what request n did
// not have. The zero value is ready; it is safe for concurrent use. A
// conversation whose earlier messages change (compaction) needs a new one.
type EncodedHistory struct {
	mu      sync.Mutex
	dialect string
	n       int
	buf     []byte

	offered []ToolSpec
	tools   []byte
	format  string // of tools
}

// Tools returns what encode makes of specs, or what it made of them for the
// last request. The result must not be changed. A nil EncodedHistory encodes aneh.
func (h *EncodedHistory) Tools(dialect string, specs []ToolSpec, encode func([]ToolSpec) ([]byte, error)) ([]byte, error) {
	if h == nil {
		return encode(specs)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	same := func(a, b ToolSpec) bool {
		return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.Input, b.Input)
	}
	if h.tools != nil && h.format == dialect && slices.EqualFunc(h.offered, specs, same) {
		return h.tools, nil
	}
	b, err := encode(specs)
	if err != nil {
		return nil, err
	}
	h.offered, h.tools, h.format = slices.Clone(specs), b, dialect
	return b, nil
}

// Encode returns the JSON array of msgs. It calls encode, which appends one
// message's JSON to dst, for the messages it has not seen. dialect names the
// format; another dialect starts afresh. The result is valid until the
// conversation grows and must not be changed. A nil EncodedHistory encodes everything.
func (h *EncodedHistory) Encode(dialect string, msgs []Message, encode func(dst []byte, m *Message) ([]byte, error)) ([]byte, error) {
	if h == nil {
		h = new(EncodedHistory)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.dialect != dialect || h.n > len(msgs) {
		h.dialect, h.n, h.buf = dialect, 0, nil
	}
	if h.buf == nil {
		h.buf = append(make([]byte, 0, 16<<10), '[')
	}
	buf := h.buf
	if cap(buf)-len(buf) < len(buf)/8 {
		buf = slices.Grow(buf, len(buf)) // twice as large, since append would soon have to copy it again
	}
	for i := h.n; i < len(msgs); i++ {
		if i > 0 {
			buf = append(buf, ',')
		}
		var err error
		if buf, err = encode(buf, &msgs[i]); err != nil {
			return nil, err
		}
	}
	// The closing bracket lies behind the kept part and is overwritten when
	// the conversation grows.
	all := append(buf, ']')
	h.buf, h.n = all[:len(all)-1], len(msgs)
	return all, nil
}

// callJSON is a Call as journals have it. Encoding JSON takes out the blanks
// between values: Spaced says that there was one after each colon and comma, as
// most models write them, Written has arguments with other blanks.
type callJSON struct {
	plainCall
	Spaced  bool   `json:"spaced,omitempty"`
	Written string `json:"written,omitempty"`
}

type plainCall Call

// MarshalJSON keeps the arguments as the model wrote them: a server finds its
// own answer in its cache only as it was.
func (c Call) MarshalJSON() ([]byte, error) {
	out := callJSON{plainCall: plainCall(c)}
	var compact bytes.Buffer
	if json.Compact(&compact, c.Args) == nil && !bytes.Equal(compact.Bytes(), c.Args) {
		if out.Spaced = bytes.Equal(jsontext.Spaced(compact.Bytes()), c.Args); !out.Spaced {
			out.Written = string(c.Args)
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // whoever encodes the rest decides
	err := enc.Encode(out)
	return b.Bytes(), err
}

// UnmarshalJSON is the inverse of MarshalJSON. A key that is not known is an error: in a
// journal, a newer program wrote it.
func (c *Call) UnmarshalJSON(b []byte) error {
	in := callJSON{plainCall: plainCall(*c)}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return err
	}
	*c = Call(in.plainCall)
	switch {
	case in.Spaced:
		c.Args = jsontext.Spaced(c.Args)
	case in.Written != "" && json.Valid([]byte(in.Written)):
		c.Args = json.RawMessage(in.Written)
	}
	return nil
}
