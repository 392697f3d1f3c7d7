package llm

import (
	"bytes"
	"encoding/json"

	"github.com/adroit-run/adroit/internal/text/jsontext"
)

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
