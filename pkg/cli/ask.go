package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/adroit-run/adroit/pkg/cli/internal/render"
	"github.com/adroit-run/adroit/pkg/cli/internal/term"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// ask puts a job's question to the person at the terminal and sends the
// answer. It reports false if there was none: then the job stays parked.
func (a *app) ask(ctx context.Context, store jobs.Store, job *jobs.Job) (bool, error) {
	q, err := pending(ctx, store, job.ID)
	if err != nil || q == nil {
		return false, err
	}
	yes, no := listens(q, "approve"), listens(q, "deny")
	if yes == "" || no == "" {
		return false, nil
	}
	in := term.NewLineReader(ctx, a.Stdin)
	text, whole := render.Question(q, firstLook)
	fmt.Fprint(a.Stderr, text)
	e := render.ToolQuestion(q)
	choices := "[y]es, [n]o, [v]iew all of it: "
	if e != nil && e.Always != nil {
		fmt.Fprintf(a.Stderr, "     always means, in this job only: %s\n", render.Quote(render.SanitizeLine(e.Always.String())))
		choices = "[y]es, [a]lways, [n]o, [v]iew all of it: "
	}
	for {
		fmt.Fprint(a.Stderr, "     run it? "+choices)
		word, err := in.ReadLine()
		if err != nil {
			fmt.Fprintln(a.Stderr)
			return false, nil
		}
		word = strings.ToLower(strings.TrimSpace(word))
		always := e != nil && e.Always != nil && (word == "a" || word == "always")
		switch {
		case (always || word == "y" || word == "yes") && !whole:
			fmt.Fprintln(a.Stderr, "     only a part of it was shown; v shows the rest")
		case always:
			return true, send(ctx, store, job.ID, yes, json.RawMessage(`{"always":true}`))
		case word == "y" || word == "yes":
			return true, send(ctx, store, job.ID, yes, nil)
		case word == "n" || word == "no":
			return true, send(ctx, store, job.ID, no, nil)
		case word == "v" || word == "view":
			text, whole = render.Question(q, -1)
			fmt.Fprint(a.Stderr, text)
		}
	}
}

// firstLook is how many characters of each argument are shown at first.
const firstLook = 2000

// listens is the full name of a signal that q waits for, "" if it does not.
func listens(q *jobs.Question, name string) string {
	for _, s := range q.Signals {
		if s == name || render.SignalName(s) == name {
			return s
		}
	}
	return ""
}
