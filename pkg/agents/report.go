package agents

import (
	"fmt"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/internal/text/plainyaml"
)

// place is a position in a file; lines and columns count from 1.
type place = plainyaml.Place

// jobToolPrefix begins the names of the tools for jobs beside which exposed agents
// are tools.
const jobToolPrefix = "job_"

// Name of an agent: it is typed, and becomes part of step names and URLs.
var nameRule = lazyregexp.New(`^[a-z][a-z0-9_-]{0,63}$`)

// report collects the problems of one file.
type report struct {
	src  Source
	list Problems
}

func (r *report) at(p place, s Severity, hint, format string, args ...any) {
	r.list = append(r.list, Problem{File: r.src.File, Line: p.Line, Col: p.Col, Severity: s, Message: fmt.Sprintf(format, args...), Hint: hint})
}

func (r *report) key(key string, s Severity, hint, format string, args ...any) {
	r.at(r.src.Places.Of(key), s, hint, format, args...)
}
