package coordinator

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
)

// quoted is a value as JSON on one line, for models and people who read a transcript. In
// it no text of a failure can pass for anything but a value: marks that end a frame are
// escaped, and so are signs that change how text is shown, such as those of its direction.
func quoted(v any) (json.RawMessage, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if s := string(b); strings.ContainsFunc(s, invisible) {
		var out strings.Builder
		for _, r := range s {
			switch {
			case !invisible(r):
				out.WriteRune(r)
			case r > 0xffff:
				fmt.Fprintf(&out, `\u%04x\u%04x`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
			default:
				fmt.Fprintf(&out, `\u%04x`, r)
			}
		}
		return json.RawMessage(out.String()), nil
	}
	return b, nil
}

// invisible reports what is read and not seen: directions, joiners, tags, controls.
func invisible(r rune) bool { return unicode.In(r, unicode.Cf, unicode.Cc, unicode.Zl, unicode.Zp) }
