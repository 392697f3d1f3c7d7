// Package secret makes what keeps secrets out of all that a job leaves behind:
// prompts, events, journals, logs and errors. It is for adroit.Options.Secrets.
//
//	r := secret.New(secret.Options{Known: []secret.Known{{Name: "OPENAI_API_KEY", Value: key}}})
//	text, hit := r.String("export TOKEN=ghp_…") // export TOKEN=[secret: github token], true
package secret

import "github.com/adroit-run/adroit/internal/secret"

type (
	// A Redactor replaces secrets. A nil Redactor replaces nothing.
	Redactor = secret.Redactor
	// Options say what to look for beside the shapes of well-known tokens.
	Options = secret.Options
	// A Known is a value that must not be shown and the name it is shown as.
	Known = secret.Known
)

// New returns a Redactor of the values of o and of well-known tokens.
func New(o Options) *Redactor { return secret.New(o) }

// Environ finds the values of an environment, as os.Environ gives it, whose
// names say that they are secrets.
func Environ(environ []string) []Known { return secret.Environ(environ) }
