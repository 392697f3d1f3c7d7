// Package proposal writes pipelines for failures that come again, from what coordinators
// remember of them. No model is asked, and what is written is for a person to accept.
//
//	for _, c := range proposal.Cases(remembered) {
//		text, err := c.Pipeline(c.Name())
//	}
package proposal

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/problem"
)

// Often is in how many jobs a failure was met that is proposed unasked.
const Often = 3

// A Case is a failure with what helped against it.
type Case struct {
	Signature string    `json:"signature"`
	Type      string    `json:"type"`
	Message   string    `json:"message"`
	Command   string    `json:"command,omitempty"`
	Jobs      int       `json:"jobs"` // in which it was met
	Last      time.Time `json:"last"`
	Helped    string    `json:"helped,omitempty"` // in words
	// Lacks is the reason why no pipeline can be proposed for it, "" if one can.
	Lacks string `json:"lacks,omitempty"`

	text   string          // its significant lines
	did    problem.Failure // what helped last and has not failed since
	agent  string          // that helped last
	helped bool
}

// Cases are the failures among those that are remembered, the most frequent first.
func Cases(remembered []problem.Failure) []Case {
	by := map[string][]problem.Failure{}
	var order []string
	for _, f := range remembered {
		if by[f.Signature] == nil {
			order = append(order, f.Signature)
		}
		by[f.Signature] = append(by[f.Signature], f)
	}
	out := []Case{}
	for _, sig := range order {
		out = append(out, caseOf(by[sig]))
	}
	slices.SortStableFunc(out, func(a, b Case) int { return cmp.Compare(b.Jobs, a.Jobs) })
	return out
}

// Find is the case of a signature or its beginning, of a job or of one of its failures.
func Find(cases []Case, remembered []problem.Failure, which string) (c Case, err error) {
	sigs := map[string]bool{}
	for _, f := range remembered {
		if strings.HasPrefix(f.Signature, which) || f.Key == which || strings.HasPrefix(f.Key, which+"/") {
			sigs[f.Signature] = true
		}
	}
	var found []Case
	for _, c := range cases {
		if sigs[c.Signature] {
			found = append(found, c)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return c, fmt.Errorf("nothing is remembered of %s in this project", which)
	}
	return c, fmt.Errorf("%s means %d failures; give the signature of one", which, len(found))
}

// caseOf judges what was done about one failure, the newest first: of each thing that
// was done, its last outcome counts.
func caseOf(all []problem.Failure) Case {
	slices.SortStableFunc(all, func(a, b problem.Failure) int { return b.At.Compare(a.At) })
	c := Case{Signature: all[0].Signature, Type: all[0].Type, Message: all[0].Message, Last: all[0].At, text: all[0].Text}
	jobs := map[string]bool{}
	judged := map[string]bool{}
	for _, f := range all {
		job, _, _ := strings.Cut(f.Key, "/")
		jobs[job] = true
		c.Command = cmp.Or(c.Command, strings.TrimSpace(f.Action.Command))
		if !f.Worked() && !f.Failed() {
			continue
		}
		for _, what := range did(f) {
			if judged[what] {
				continue
			}
			judged[what] = true
			if !f.Worked() {
				continue
			}
			got := f
			switch {
			case strings.HasPrefix(what, "agent "):
				c.agent = cmp.Or(c.agent, f.Action.Agent)
				got.Action.Fix = "" // it is judged by itself
			case got.Action.Run != "":
				got.Action.Fix = "" // what the command made of it then
			}
			if !c.helped || rank(got.Action) > rank(c.did.Action) {
				c.did, c.helped = got, true
			}
		}
	}
	c.Jobs = len(jobs)
	switch a := c.did.Action; {
	case !c.helped:
		c.Lacks = "nothing is known that helps"
	case c.Command == "":
		c.Lacks = "its command line is not remembered"
	case a.Fix != "":
		c.Helped = "a change of " + strings.Join(a.Files, ", ")
	case a.Run != "":
		c.Helped = "the command " + a.Run
	case a.Agent != "":
		c.Helped = "the agent " + a.Agent
	default:
		c.Helped = "running it again"
	}
	return c
}

// did identifies what was done: a change, and the agent that made it first; that it was
// made again is about the change alone.
func did(f problem.Failure) []string {
	switch a := f.Action; {
	case a.Of != "":
		return []string{"change " + a.Of}
	case a.Run != "":
		return []string{"command " + a.Run}
	case a.Fix != "":
		return []string{"change " + f.Key, "agent " + a.Agent}
	case a.Agent != "":
		return []string{"agent " + a.Agent}
	default:
		return []string{f.Action.Decision}
	}
}

// rank orders the actions that helped. A command repairs cases that a change no longer
// fits, and both work without a model.
func rank(a problem.Action) int {
	switch {
	case a.Run != "":
		return 3
	case a.Fix != "":
		return 2
	case a.Agent != "":
		return 1
	}
	return 0
}

// Name is a name for its pipeline.
func (c Case) Name() string {
	var b strings.Builder
	for _, r := range strings.ToLower(c.Type + " " + c.Command) {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		case !strings.HasSuffix(b.String(), "-") && b.Len() > 0:
			b.WriteByte('-')
		}
	}
	name := "repair-" + b.String()
	return strings.TrimRight(name[:min(len(name), 48)], "-")
}
