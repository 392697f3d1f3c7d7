package pipeline

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// text is a value as a prompt has it: text as it is, the rest as JSON.
func text(v json.RawMessage) string {
	var s string
	if json.Unmarshal(v, &s) == nil {
		return s
	}
	if string(v) == "null" {
		return ""
	}
	return string(v)
}

// headAndTail is s if it has at most n bytes, else its head and its tail with a note
// between them.
func headAndTail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	head := clean(s[:n*2/3], false)
	tail := clean(s[len(s)-n/3:], true)
	return fmt.Sprintf("%s\n[… %d of %d bytes are left out here …]\n%s", head, len(s)-len(head)-len(tail), len(s), tail)
}

// clean takes the broken character off the end of a head, or off the beginning
// of a tail.
func clean(s string, tail bool) string {
	for range utf8.UTFMax {
		if tail && s != "" && !utf8.RuneStart(s[0]) {
			s = s[1:]
		}
	}
	if !tail {
		for i := 1; i <= min(utf8.UTFMax, len(s)); i++ {
			if c := s[len(s)-i]; utf8.RuneStart(c) {
				if !utf8.FullRuneInString(s[len(s)-i:]) {
					s = s[:len(s)-i]
				}
				break
			}
		}
	}
	return s
}

// into follows fields of JSON; path is for words.
func into(v json.RawMessage, fields []string, path string) (json.RawMessage, error) {
	for _, f := range fields {
		v = structured(v)
		if i, err := strconv.Atoi(f); err == nil {
			var list []json.RawMessage
			if json.Unmarshal(v, &list) == nil && list != nil {
				if i < 0 || i >= len(list) {
					return nil, fmt.Errorf("{{%s}}: there is no entry %s; it has %d", path, f, len(list))
				}
				v = list[i]
				continue
			}
		}
		var m map[string]json.RawMessage
		if json.Unmarshal(v, &m) != nil || m == nil {
			return nil, fmt.Errorf("{{%s}}: there is no field %s: the value is not a JSON object", path, f)
		}
		kid, ok := m[f]
		if !ok {
			return nil, fmt.Errorf("{{%s}}: there is no field %s%s", path, f, suggestion(f, m))
		}
		v = kid
	}
	return v, nil
}

// same compares values, not their spelling. Text that models wrote has space
// around it which nobody means.
func same(a, b json.RawMessage) bool {
	x, y := canonical(a), canonical(b)
	if bytes.Equal(x, y) {
		return true
	}
	// A number or a truth value may have come as text.
	return text(a) == text(b) && scalar(a) && scalar(b)
}

func scalar(v json.RawMessage) bool { return len(v) > 0 && v[0] != '{' && v[0] != '[' }

func canonical(v json.RawMessage) []byte {
	var x any
	d := json.NewDecoder(bytes.NewReader(v))
	d.UseNumber()
	if d.Decode(&x) != nil {
		return v
	}
	b, err := json.Marshal(x)
	if err != nil {
		return v
	}
	return b
}

// structured is v, or what the text v holds if that is an object or a list: an
// agent without output: answers with text that may be JSON.
func structured(v json.RawMessage) json.RawMessage {
	var s string
	if json.Unmarshal(v, &s) != nil {
		return v
	}
	if t := bytes.TrimSpace([]byte(s)); len(t) > 0 && (t[0] == '{' || t[0] == '[') && json.Valid(t) {
		return t
	}
	return v
}

func brief(v json.RawMessage) string {
	s := string(v)
	if len(s) > 60 {
		s = s[:60] + "…"
	}
	return s
}

func quote(s string) json.RawMessage {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings always encode
	}
	return b
}

func several(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}
