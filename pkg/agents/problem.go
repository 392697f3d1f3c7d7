package agents

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Severity states how bad a problem is.
type Severity string

const (
	Error   Severity = "error"   // the agent cannot be used
	Warning Severity = "warning" // it can, but something will not be as written
	Note    Severity = "note"    // good to know
)

// A Problem is something wrong with an agent, at a place. Line and Col count
// from 1 and are zero if there is no place.
type Problem struct {
	File     string   `json:"file,omitempty"`
	Line     int      `json:"line,omitempty"`
	Col      int      `json:"col,omitempty"`
	Severity Severity `json:"severity"`
	Message  string   `json:"message"`
	Hint     string   `json:"hint,omitempty"`
}

// String is the problem on one line: file:line:col: severity: message; hint.
func (p Problem) String() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(p.File + ":")
	}
	if p.Line > 0 {
		fmt.Fprintf(&b, "%d:%d:", p.Line, p.Col)
	}
	if b.Len() > 0 {
		b.WriteByte(' ')
	}
	fmt.Fprintf(&b, "%s: %s", p.Severity, p.Message)
	if p.Hint != "" {
		b.WriteString("; " + strings.ReplaceAll(p.Hint, "\n", "; "))
	}
	return unbroken.Replace(b.String())
}

// unbroken keeps names of files, and what stands in them, from making lines of their own.
var unbroken = strings.NewReplacer("\n", `\n`, "\r", `\r`, "\v", `\v`, "\f", `\f`, "\u0085", `\u0085`, "\u2028", `\u2028`, "\u2029", `\u2029`)

// Problems is a list of problems in the order of the text. As an error it reports an
// agent that cannot be used.
type Problems []Problem

func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Err gives those that keep an agent from being used as one error, nil if
// there are none.
func (ps Problems) Err() error {
	var bad Problems
	for _, p := range ps {
		if p.Severity == Error {
			bad = append(bad, p)
		}
	}
	if bad == nil {
		return nil
	}
	return bad
}

// Sort gives the problems in the order of the text, each once.
func (ps Problems) Sort() Problems {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	return slices.Compact(ps)
}
