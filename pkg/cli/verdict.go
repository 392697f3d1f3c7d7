package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/jobs"
)

func writeEvent(w io.Writer, ev event.Event) {
	b, err := json.Marshal(ev)
	if err != nil {
		return // an event that came out of the log went in as JSON
	}
	fmt.Fprintf(w, "%s\n", b)
}

func statusStyle(s jobs.Status) string {
	switch s {
	case jobs.Failed, jobs.Blocked, jobs.Stuck, jobs.Limit:
		return red
	}
	return bold
}

// raising is the flag that raises the limit which stopped a job.
func raising(job *jobs.Job) string {
	var s struct{ Outcome struct{ Limit string } }
	_ = json.Unmarshal(job.Output, &s) // a job without an outcome names none
	switch s.Outcome.Limit {
	case "tokens":
		return "--max-tokens N"
	case "cost":
		return "--max-cost USD"
	case "time":
		return "--timeout DURATION"
	}
	return "--max-turns N"
}

// verdict is why a job stopped: the first line says it, the others what is
// missing.
func verdict(job *jobs.Job, f *jobs.Final) []string {
	in := ""
	if f.Turns > 0 {
		in = " in " + plural(f.Turns, "turn")
	}
	switch job.Status {
	case jobs.Done:
		return []string{strings.TrimSuffix(fmt.Sprintf("done%s: %s", in, job.Reason), ": ")}
	case jobs.Waiting:
		return []string{"waiting for a person: " + question(f.Waiting)}
	case jobs.Interrupted:
		return []string{"interrupted: " + strings.TrimPrefix(job.Reason, "interrupted: ") + "; nothing that was finished is lost"}
	case jobs.Cancelled:
		return []string{"cancelled" + in}
	}
	out := []string{fmt.Sprintf("%s%s: %s", job.Status, in, job.Reason)}
	for _, u := range f.Unmet {
		out = append(out, "  not met: "+u)
	}
	return out
}

func figures(f *jobs.Final, usd float64, took time.Duration) string {
	if f.Usage.In+f.Usage.Out == 0 {
		return ""
	}
	s := count(f.Usage.In) + " tokens in"
	if f.Usage.Cached > 0 {
		s += fmt.Sprintf(" (%s cached)", count(f.Usage.Cached))
	}
	s += fmt.Sprintf(", %s out", count(f.Usage.Out))
	if usd > 0 {
		s += fmt.Sprintf(", %.4f USD", usd)
	}
	return s + ", " + span(took)
}
