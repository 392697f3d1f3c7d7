package jsontext

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/text/spelling"
)

// Fault explains err, with which [json.Unmarshal] has refused a part of a file, to the file's
// author: the line, the key, the value found and the one expected. keys lead from the top of the
// file to the part; there are none if all of it was read. Errors of other kinds are returned
// unchanged.
func Fault(file []byte, err error, keys ...string) error {
	var syntax *json.SyntaxError
	var typ *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("line %d: it is no JSON: %w", lineOf(file, syntax.Offset), syntax)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("line %d: it is no JSON: it ends too early", lineOf(file, int64(len(file))))
	case !errors.As(err, &typ):
		if key, ok := UnknownKey(err); ok {
			return fmt.Errorf("line %d: there is no key %q", lineOf(file, int64(bytes.Index(file, []byte(strconv.Quote(key))))), key)
		}
		return err
	}
	whole := len(keys) == 0
	for name := range strings.SplitSeq(typ.Field, ".") {
		if name != "" {
			keys = append(keys, name)
		}
	}
	found, line, list := find(file, keys)
	if whole && list {
		found, line = keys, lineOf(file, typ.Offset)
	}
	words := "it must be " + spelling.Form(typ.Type) + ", and is " + plainKind(typ.Value)
	if len(found) > 0 {
		words = strings.Join(found, ".") + ": " + words
	}
	return fmt.Errorf("line %d: %s", line, words)
}

// UnknownKey returns the key that a decoder has refused because it matches no field.
func UnknownKey(err error) (key string, ok bool) {
	quoted, ok := strings.CutPrefix(err.Error(), "json: unknown field ") // it has no type of its own
	if !ok {
		return "", false
	}
	key, err = strconv.Unquote(quoted)
	return key, err == nil
}

// plainKind describes the decoder's name of a value in plain words.
func plainKind(value string) string {
	kind, _, _ := strings.Cut(value, " ") // number 1.5
	switch kind {
	case "string":
		return "text"
	case "bool":
		return "true or false"
	case "array":
		return "a list"
	case "object":
		return "keys with values"
	}
	return "a number"
}

func lineOf(file []byte, offset int64) int {
	return 1 + bytes.Count(file[:min(max(offset, 0), int64(len(file)))], []byte("\n"))
}

// find follows keys as far as they exist, skipping embedded structs, which have no key. It returns
// the keys found and the line of the last one; list reports whether a list is in the way.
func find(file []byte, keys []string) (found []string, line int, list bool) {
	d := json.NewDecoder(bytes.NewReader(file))
	line = 1
	for len(keys) > 0 {
		if t, err := d.Token(); err != nil || t != json.Delim('{') {
			return found, line, t == json.Delim('[')
		}
		reached := false
		for d.More() && !reached {
			t, err := d.Token()
			if err != nil {
				return found, line, false
			}
			name, _ := t.(string)
			for i, k := range keys {
				if strings.EqualFold(name, k) {
					found, keys, reached = append(found, name), keys[i+1:], true
					line = lineOf(file, d.InputOffset())
					break
				}
			}
			var skipped json.RawMessage
			if !reached && d.Decode(&skipped) != nil {
				return found, line, false
			}
		}
		if !reached {
			return found, line, false
		}
	}
	return found, line, false
}
