package tools

import (
	"context"
	"errors"
	"fmt"
)

// A Codebase is what language servers know of the workspace's files, as they are on
// disk now. Names of files are relative to the workspace; what lies outside it
// has an absolute one. Implementations are safe for concurrent use and bound
// the time of each call. An error that wraps ErrNoServer means that no
// server handles the file: then a tool does without.
type Codebase interface {
	// Diagnose reports the faults of files. Files without a server are left out
	// unless none has one.
	Diagnose(ctx context.Context, files ...string) ([]Diagnostic, error)
	// Symbols lists what a file declares, in the order of its lines.
	Symbols(ctx context.Context, file string) ([]Symbol, error)
	// Definition reports where the word at a spot is declared.
	Definition(ctx context.Context, at Location) ([]Location, error)
	// References reports where what the word at a spot means is used, its
	// declaration included.
	References(ctx context.Context, at Location) ([]Location, error)
}

// ErrNoServer means that there is no language server for a file, or none any
// more. What wraps it reports why.
var ErrNoServer = errors.New("no language server")

// A Location is a place in a file. Lines and columns count from 1, columns in
// bytes.
type Location struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

// A Symbol is a declaration. Depth is 0 at the top of a file, 1 inside of
// that, and so on.
type Symbol struct {
	Name string `json:"name"`
	Kind string `json:"kind"` // func, method, type, var, const, field, …
	Location
	End   int `json:"end,omitempty"` // last line, 0 if it is not known
	Depth int `json:"depth,omitempty"`
}

// A Diagnostic is something wrong in a file.
type Diagnostic struct {
	Location
	Severity string `json:"severity"` // error or warning
	Message  string `json:"message"`
	Source   string `json:"source,omitempty"` // compiler, pyright, …
}

// String is the diagnostic as compilers write it.
func (d Diagnostic) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", d.File, d.Line, d.Severity, d.Message)
}
