// Package secret keeps secrets out of what is kept and shown: prompts, events, journals,
// logs, errors. It is for adroit.Options.Secrets.
//
// A [Redactor] knows values, such as the configured keys, and the shapes of well-known
// tokens. It replaces what it finds by words that name the kind, so that the place of the
// secret stays visible:
//
//	r := secret.New(map[string]string{"PAYMENT_KEY": key})
//	text, hit := r.String("export TOKEN=ghp_…") // export TOKEN=[secret: github token], true
//	w := r.Writer(log)                          // the same for a stream, whatever its chunks
//
// Known values are found in their JSON, URL, base64 and hex forms too. It is not a
// permission system: it is the last net below the deny list and the sandbox, and a secret
// without a known value or shape passes through.
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
