package llm

import (
	"bytes"
	"slices"
	"sync"
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
