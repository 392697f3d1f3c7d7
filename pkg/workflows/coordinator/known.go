package coordinator

import (
	"fmt"
	"slices"
	"time"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/spelling"
)

// Known is other jobs' experience with a failure.
type Known struct {
	Worked  *Past  `json:"worked,omitempty"`   // the last that helped, and has not failed since
	Fix     string `json:"fix,omitempty"`      // what it changed, a diff that can be made here
	Person  *Past  `json:"person,omitempty"`   // the last time, a person had to repair it
	GivenUp *Past  `json:"given_up,omitempty"` // the last time that nobody knew what to do
	// Failed are agents whose last repair of this failure did not help.
	Failed []string `json:"failed,omitempty"`
	Shown  []Past   `json:"shown,omitempty"` // to a model that decides, three at most
}

// A Past is something that was done about a failure, as data.
type Past struct {
	Key      string   `json:"key"` // JOB/N
	Same     bool     `json:"same_failure"`
	Age      string   `json:"age"`
	Type     string   `json:"type"`
	Message  string   `json:"message"`
	Decision string   `json:"decision"`
	Agent    string   `json:"agent,omitempty"`
	Files    []string `json:"files,omitempty"`
	Summary  string   `json:"summary,omitempty"`
	Outcome  string   `json:"outcome"`
}

// Bounds of the files of a repair that a model is shown, and of the name of one.
const (
	mostFiles = 10
	mostName  = 100
)

func pastOf(f problem.Failure, same bool, now time.Time) Past {
	files := spelling.First(f.Action.Files, mostFiles)
	for i, name := range files {
		if len(name) > mostName {
			files = slices.Clone(files)
			files[i] = clip(name, mostName)
		}
	}
	return Past{Key: f.Key, Same: same, Age: age(now.Sub(f.At)), Type: f.Type, Message: clip(f.Message, 300), Decision: f.Action.Decision,
		Agent: f.Action.Agent, Files: files, Summary: clip(f.Action.Summary, 300), Outcome: f.Outcome}
}

// knownOf judges what was done about the same failure, the newest first: of each
// thing that was done, its last outcome counts. fits reports whether a diff can be
// made here.
func knownOf(same, similar []problem.Failure, project string, now time.Time, fits func(diff string) bool) Known {
	var k Known
	failed := map[string]bool{}
	seen := func(what string, f problem.Failure) bool {
		_, again := failed[what]
		if !again {
			failed[what] = f.Failed()
		}
		return again
	}
	for i, f := range same {
		a := f.Action
		if i == 0 && f.Outcome == problem.Person {
			p := pastOf(f, true, now)
			k.Person = &p
		}
		if f.Outcome == problem.Given && k.GivenUp == nil {
			p := pastOf(f, true, now)
			k.GivenUp = &p
		}
		var usable bool
		switch {
		case !f.Worked() && !f.Failed():
			continue
		case a.Of != "":
			seen("fix "+a.Of, f)
			usable = f.Worked() // what was made again is in it
		case a.Agent != "":
			usable = !seen("agent "+a.Agent, f) && f.Worked()
			if failed["agent "+a.Agent] && !slices.Contains(k.Failed, a.Agent) {
				k.Failed = append(k.Failed, a.Agent)
			}
		default:
			usable = !seen(a.Decision, f) && f.Worked()
		}
		if root := rootOf(f); a.Fix != "" && f.Worked() && f.Project == project && k.Fix == "" && !failed["fix "+root] && fits(a.Fix) {
			p := pastOf(f, true, now)
			p.Key = root
			k.Worked, k.Fix = &p, a.Fix
		} else if usable && a.Of == "" && k.Worked == nil {
			p := pastOf(f, true, now)
			k.Worked = &p
		}
	}
	if k.Worked != nil {
		k.Person = nil
	}
	k.Shown = shown(same, similar, now)
	return k
}

// rootOf is the key of the failure that a fix was first made for.
func rootOf(f problem.Failure) string {
	if f.Action.Of != "" {
		return f.Action.Of
	}
	return f.Key
}

// shown are the three that say most: what was done about the same failure, each
// thing once, then similar ones.
func shown(same, similar []problem.Failure, now time.Time) (out []Past) {
	for _, f := range same {
		p := pastOf(f, true, now)
		if f.Action.Of == "" && !slices.ContainsFunc(out, func(q Past) bool { return q.Decision == p.Decision && q.Agent == p.Agent }) {
			out = append(out, p)
		}
	}
	for _, f := range similar {
		out = append(out, pastOf(f, false, now))
	}
	return out[:min(len(out), problem.MostShown)]
}

// age describes how long ago something was, for people and models.
func age(d time.Duration) string {
	for _, u := range []struct {
		d    time.Duration
		name string
	}{{24 * time.Hour, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}} {
		if n := d / u.d; n == 1 {
			return "1 " + u.name + " ago"
		} else if n > 1 {
			return fmt.Sprintf("%d %ss ago", n, u.name)
		}
	}
	return "just now"
}
