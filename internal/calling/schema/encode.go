package schema

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
)

// Decode reads validated arguments into a typed value. JSON Schema takes 3.0
// for an integer, encoding/json does not: such numbers are rewritten, but only
// if reading them as they are fails.
func Decode(args json.RawMessage, into any) error {
	err := unmarshal(args, into)
	if typed := new(json.UnmarshalTypeError); errors.As(err, &typed) {
		if whole := wholeNumbers(args); whole != nil {
			err = unmarshal(whole, into)
		}
	}
	if typed := new(json.UnmarshalTypeError); errors.As(err, &typed) {
		where := typed.Field
		where = cmp.Or(where, "the value")
		return fmt.Errorf("%s: %s does not fit into %s", where, typed.Value, typed.Type)
	}
	return err
}

func unmarshal(b []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	return dec.Decode(into)
}
