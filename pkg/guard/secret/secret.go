// Package secret makes what keeps secrets out of all that a job leaves behind:
// prompts, events, journals, logs and errors. It is for adroit.Options.Secrets.
//
//	r := NewRedactor(map[string]string{"PAYMENT_KEY": key})
//	text, hit := r.String("export TOKEN=ghp_…") // export TOKEN=[secret: github token], true
package secret

import (
	"maps"
	"os"
	"slices"
)

// New returns a Redactor of values, each shown as its name, of the values of the
// environment whose names say that they are secrets, and of well-known tokens. allow
// has the fingerprints of findings that are no secrets: git_commit prints one beside
// each finding.
func New(values map[string]string, allow ...string) *Redactor {
	var known []Known
	for _, name := range slices.Sorted(maps.Keys(values)) {
		known = append(known, Known{Name: name, Value: values[name]})
	}
	return NewRedactor(Options{Known: append(known, Environ(os.Environ())...), Allow: allow})
}
