package secret

import "fmt"

// A Replaced is a secret in what somebody sent a job: the job keeps a mark in its place.
type Replaced = struct {
	Where       string `json:"where"` // as in "the prompt"
	Kind        string `json:"kind,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"` // as secrets.known takes it
}

// ReplacedWords are for who sent it.
func ReplacedWords(r Replaced) string {
	what := ""
	if r.Kind != "" {
		what = fmt.Sprintf(" (%s, fingerprint %s)", r.Kind, r.Fingerprint)
	}
	return r.Where + " has a secret in it" + what + ": the job keeps, and the model gets, [secret: …] in its place. " +
		"An agent can use what a file or a variable has that its commands read; secrets.known in the configuration names what is no secret"
}
