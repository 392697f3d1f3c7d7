package tools

import (
	"encoding/json"
	"fmt"
	"strings"
)

// A Taint describes what a result carries into a conversation. A job that has seen
// both kinds may be talked into sending the one where the other wants it: what
// leaves the machine then needs a person. So does publishing again where an
// earlier publication is unconfirmed.
type Taint uint8

const (
	Untrusted   Taint = 1 << iota // text that others wrote: files, output of programs, the network
	Secret                        // something that was to stay here, even if it was blotted out
	Unconfirmed                   // it is not known whether something was published
)

func taintNames() []string { return []string{"untrusted", "secret", "unconfirmed"} }

// Has reports whether t includes all of what.
func (t Taint) Has(what Taint) bool { return t&what == what }

// Names lists what t is made of.
func (t Taint) Names() []string {
	names := []string{}
	for i, name := range taintNames() {
		if t&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return names
}

func (t Taint) String() string {
	if t == 0 {
		return "none"
	}
	return strings.Join(t.Names(), ",")
}

// MarshalJSON writes t as a list of names.
func (t Taint) MarshalJSON() ([]byte, error) { return json.Marshal(t.Names()) }

// UnmarshalJSON reads a list of names. An unknown one is an error: a taint
// that is lost is worse than a job that stops.
func (t *Taint) UnmarshalJSON(b []byte) error {
	var names []string
	if err := json.Unmarshal(b, &names); err != nil {
		return fmt.Errorf("a taint is a list of names such as [\"untrusted\"]: %w", err)
	}
	var got Taint
next:
	for _, name := range names {
		for i, known := range taintNames() {
			if name == known {
				got |= 1 << i
				continue next
			}
		}
		return fmt.Errorf("unknown taint %q; there are %s", name, strings.Join(taintNames(), ", "))
	}
	*t = got
	return nil
}
