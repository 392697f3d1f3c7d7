package executor

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/adroit-run/adroit/pkg/llm"
)

// What steps take and give is decoded several times a turn: by the handler, by
// whoever describes the step, by the workflow. Reading the few fields that
// nearly all of them have by hand takes a third of the time that reflection
// takes; everything else goes to encoding/json, as does what is not in the form
// that it writes.

// UnmarshalJSON implements [json.Unmarshaler].
func (u *Use) UnmarshalJSON(b []byte) error {
	return u.read(b, func(v []byte) (may *May, err error) { return may, json.Unmarshal(v, &may) })
}

// read decodes b; may decodes what decides about the call, which is the same
// for most calls of a job.
func (u *Use) read(b []byte, may func([]byte) (*May, error)) error {
	type plain Use
	err := fields(b, func(key, v []byte) error {
		switch string(key) {
		case "args":
			u.Args = slices.Clone(v)
			return nil
		case "room":
			return whole(v, &u.Room)
		case "may":
			var err error
			u.May, err = may(v)
			return err
		}
		return rest(key, v, (*plain)(u))
	})
	if err != nil {
		return json.Unmarshal(b, (*plain)(u))
	}
	return nil
}

// unjudged leaves out what decides about a call.
func unjudged([]byte) (*May, error) { return nil, nil }

// mays keeps the last May that was decoded. Nobody changes one. It is safe for
// concurrent use.
type mays struct {
	mu  sync.Mutex
	raw string
	may *May
}

func (m *mays) decode(v []byte) (*May, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.may != nil && m.raw == string(v) {
		return m.may, nil
	}
	may := new(May)
	if err := json.Unmarshal(v, may); err != nil {
		return nil, err
	}
	m.raw, m.may = string(v), may
	return may, nil
}

// UnmarshalJSON implements [json.Unmarshaler].
func (r *Reply) UnmarshalJSON(b []byte) error {
	type plain Reply
	err := fields(b, func(key, v []byte) error {
		switch string(key) {
		case "text":
			return text(v, &r.Text)
		case "summary":
			return text(v, &r.Summary)
		case "failed":
			return truth(v, &r.Failed)
		case "took_ns":
			return whole(v, &r.Took)
		}
		return rest(key, v, (*plain)(r))
	})
	if err != nil {
		return json.Unmarshal(b, (*plain)(r))
	}
	return nil
}

// UnmarshalJSON implements [json.Unmarshaler].
func (a *Ask) UnmarshalJSON(b []byte) error {
	type plain Ask
	err := fields(b, func(key, v []byte) error {
		switch string(key) {
		case "head":
			return text(v, &a.Head)
		case "model":
			return text(v, &a.Model)
		case "new":
			a.New = []llm.Message{}
			return items(v, func(v []byte) error {
				var m llm.Message
				err := message(v, &m)
				a.New = append(a.New, m)
				return err
			})
		}
		return rest(key, v, (*plain)(a))
	})
	if err != nil {
		return json.Unmarshal(b, (*plain)(a))
	}
	return nil
}

// UnmarshalJSON implements [json.Unmarshaler].
func (a *Answer) UnmarshalJSON(b []byte) error {
	type plain Answer
	err := fields(b, func(key, v []byte) error {
		switch string(key) {
		case "message":
			return message(v, &a.Message)
		case "usage":
			return fields(v, func(key, v []byte) error {
				switch string(key) {
				case "in":
					return whole(v, &a.Usage.In)
				case "out":
					return whole(v, &a.Usage.Out)
				}
				return rest(key, v, &a.Usage)
			})
		case "model":
			return text(v, &a.Model)
		case "stop":
			return text(v, (*string)(&a.Stop))
		case "calling":
			return text(v, (*string)(&a.Calling))
		case "took_ns":
			return whole(v, &a.Took)
		}
		return rest(key, v, (*plain)(a))
	})
	if err != nil {
		return json.Unmarshal(b, (*plain)(a))
	}
	return nil
}

func message(b []byte, m *llm.Message) error {
	return fields(b, func(key, v []byte) error {
		switch string(key) {
		case "role":
			return text(v, (*string)(&m.Role))
		case "text":
			return text(v, &m.Text)
		case "call_id":
			return text(v, &m.CallID)
		case "name":
			return text(v, &m.Name)
		case "failed":
			return truth(v, &m.Failed)
		case "calls":
			m.Calls = []llm.Call{}
			return items(v, func(v []byte) error {
				var c llm.Call
				err := fields(v, func(key, v []byte) error {
					switch string(key) {
					case "id":
						return text(v, &c.ID)
					case "name":
						return text(v, &c.Name)
					case "args":
						c.Args = slices.Clone(v)
						return nil
					}
					return rest(key, v, &c)
				})
				m.Calls = append(m.Calls, c)
				return err
			})
		}
		return rest(key, v, m)
	})
}

// errOdd is JSON that encoding/json would not have written.
var errOdd = errors.New("not in the usual form")

// rest decodes the value of a key that is not read by hand.
func rest(key, v []byte, into any) error {
	b := make([]byte, 0, len(key)+len(v)+5)
	b = append(append(append(append(b, `{"`...), key...), `":`...), v...)
	return json.Unmarshal(append(b, '}'), into)
}

func text(v []byte, into *string) error {
	if len(v) < 2 || v[0] != '"' {
		return errOdd
	}
	if in := v[1 : len(v)-1]; bytes.IndexByte(in, '\\') < 0 && utf8.Valid(in) {
		*into = string(in)
		return nil
	}
	return json.Unmarshal(v, into)
}

func whole[T ~int | ~int64](v []byte, into *T) error {
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil || v[0] == '+' || len(v) > 1 && v[0] == '0' {
		return errOdd
	}
	*into = T(n)
	return nil
}

func truth(v []byte, into *bool) error {
	*into = string(v) == "true"
	if !*into && string(v) != "false" {
		return errOdd
	}
	return nil
}

// fields calls f with the members of an object without space around them.
func fields(b []byte, f func(key, v []byte) error) error {
	if len(b) < 2 || b[0] != '{' || b[len(b)-1] != '}' {
		return errOdd
	}
	for i := 1; i < len(b)-1; {
		n := value(b[i:])
		if n < 2 || b[i] != '"' || i+n >= len(b) || b[i+n] != ':' {
			return errOdd
		}
		key := b[i+1 : i+n-1]
		i += n + 1
		if n = value(b[i:]); n == 0 || i+n >= len(b) || b[i+n] != ',' && i+n != len(b)-1 {
			return errOdd
		}
		v := b[i : i+n : i+n]
		i += n + 1
		if string(v) == "null" {
			continue
		}
		if err := f(key, v); err != nil {
			return err
		}
	}
	return nil
}

// items calls f with the items of an array.
func items(b []byte, f func(v []byte) error) error {
	if len(b) < 2 || b[0] != '[' || b[len(b)-1] != ']' {
		return errOdd
	}
	for i := 1; i < len(b)-1; {
		n := value(b[i:])
		if n == 0 || i+n >= len(b) || b[i+n] != ',' && i+n != len(b)-1 {
			return errOdd
		}
		if err := f(b[i : i+n : i+n]); err != nil {
			return err
		}
		i += n + 1
	}
	return nil
}

// value is how long the value is that b begins with, 0 if there is none.
func value(b []byte) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			for i++; ; i++ {
				n := bytes.IndexByte(b[i:], '"')
				if n < 0 {
					return 0
				}
				i += n
				k := i
				for b[k-1] == '\\' {
					k--
				}
				if (i-k)%2 == 0 {
					break
				}
			}
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			switch depth--; {
			case depth < 0:
				return i
			case depth == 0:
				return i + 1
			}
		case ',':
			if depth == 0 {
				return i
			}
		case ' ', '\t', '\r', '\n':
			if depth == 0 {
				return 0
			}
		}
	}
	return 0
}
