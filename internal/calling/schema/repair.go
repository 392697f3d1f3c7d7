package schema

import (
	"bytes"
	"encoding/json"
)

// Repair rewrites arguments where there is no doubt what was meant, and says
// in note what it did: nothing at all and null become {}, a string that holds
// an object becomes that object. Everything else is returned as it is, for
// [Schema.Validate] to complain about; above all, nothing is ever completed.
func Repair(args json.RawMessage) (fixed json.RawMessage, note string) {
	trimmed := bytes.TrimSpace(args)
	switch {
	case len(trimmed) == 0:
		return json.RawMessage("{}"), "no arguments were given; taken as {}"
	case string(trimmed) == "null":
		return json.RawMessage("{}"), "the arguments were null; taken as {}"
	case trimmed[0] != '"':
		return args, ""
	}
	outer, faults := parse(trimmed)
	if faults != nil || !outer.is('"') {
		return args, ""
	}
	if inner, faults := parse([]byte(outer.Text)); faults == nil && inner.is('{') {
		return bytes.TrimSpace([]byte(outer.Text)), "the arguments were a string that held an object; decoded"
	}
	return args, ""
}
