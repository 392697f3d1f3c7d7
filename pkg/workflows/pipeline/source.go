package pipeline

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/plainyaml"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/agents"
)

// A Source is where a pipeline was read; the zero value means it was built.
type Source struct {
	Layer string `json:"layer,omitempty"`
	File  string `json:"file,omitempty"`

	at map[string]plainyaml.Place // of keys, as in steps.2.onFailure
}

// place gives the position of a key, or of the closest one around it.
func (s Source) place(key string) plainyaml.Place {
	for {
		if p, ok := s.at[key]; ok {
			return p
		}
		cut := strings.LastIndexByte(key, '.')
		if cut < 0 {
			return s.at[""]
		}
		key = key[:cut]
	}
}

// A report collects the problems of one pipeline.
type report struct {
	src  Source
	list agents.Problems
}

func (r *report) at(p plainyaml.Place, s agents.Severity, hint, format string, args ...any) {
	r.list = append(r.list, agents.Problem{File: r.src.File, Line: p.Line, Col: p.Col, Severity: s, Message: fmt.Sprintf(format, args...), Hint: hint})
}

// bad reports an error at a key.
func (r *report) bad(key, hint, format string, args ...any) {
	r.at(r.src.place(key), agents.Error, hint, format, args...)
}

// near is a hint for a name that is not among some.
func near(name string, names []string, otherwise string) string {
	// To a name of one or two letters, every other such is near.
	if n := spelling.Nearest(name, names); n != "" && len(name) > 2 {
		return "did you mean " + n + "?"
	}
	if otherwise == "" && len(names) > 0 {
		return "there are " + strings.Join(names, ", ")
	}
	return otherwise
}

// suggestion is near for the middle of a sentence.
func suggestion[V any](name string, m map[string]V) string {
	names := sorted(m)
	if n := spelling.Nearest(name, names); n != "" {
		return "; did you mean " + n + "?"
	}
	if len(names) == 0 || len(names) > 20 {
		return ""
	}
	return "; there are " + strings.Join(names, ", ")
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
