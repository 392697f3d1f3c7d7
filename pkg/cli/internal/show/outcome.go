package show

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// Event writes an event as one line of JSON.
func Event(w io.Writer, ev event.Event) {
	b, err := json.Marshal(ev)
	if err != nil {
		return // an event that came out of the log went in as JSON
	}
	fmt.Fprintf(w, "%s\n", b)
}

// StatusStyle returns the style of the line about a job with status s.
func StatusStyle(s jobs.Status) string {
	if s == jobs.Failed || s == jobs.Blocked || s.Halted() {
		return kit.Red
	}
	return kit.Bold
}

// Next renders what can be done next with a job as commands.
func Next(actions []adroit.Action) (commands []string) {
	answered := "" // a job, by commands that go on with it, too
	for _, act := range actions {
		if act.Do == "signal" {
			answered = act.Job
		}
		if act.Do == "resume" && act.Job == answered {
			continue
		}
		if c := command(act); c != "" {
			commands = append(commands, c)
		}
	}
	return commands
}

// command returns the command for an action, "" for one that this program does not know.
func command(act adroit.Action) string {
	switch act.Do {
	case "diff":
		return hint.Command("jobs diff %s", act.Job)
	case "undo":
		return hint.Command("jobs undo %s", act.Job)
	case "merge":
		return hint.Command("jobs merge %s", act.Job)
	case "retry":
		if act.CarryOut {
			return hint.Command("jobs retry %s --carry-out", act.Job)
		}
		return hint.Command("jobs retry %s", act.Job)
	case "continue":
		return hint.Command("continue %s", act.Job)
	case "signal":
		return Answers(act.Job, act.Signal, act.Question)
	case "logs":
		if act.Follow {
			return hint.Command("jobs logs %s -f", act.Job)
		}
		return hint.Command("jobs logs %s", act.Job)
	case "resume":
		return resume(act)
	}
	return ""
}

// resume raises the limit that stopped a job.
func resume(act adroit.Action) string {
	switch act.Limit {
	case "":
		return hint.Command("continue %s", act.Job)
	case "tokens":
		return hint.Command("continue %s --max-tokens N", act.Job)
	case "cost":
		return hint.Command("continue %s --max-cost USD", act.Job)
	case "time":
		return hint.Command("continue %s --timeout DURATION", act.Job)
	}
	return hint.Command("continue %s --max-turns N", act.Job)
}

// Answers are the commands that answer a question of a job that waits for a signal
// and go on with it; question is its path if the job asks several.
func Answers(job, signal, question string) string {
	only := question != ""
	switch name := SignalName(signal); {
	case name == "approve" && only:
		return hint.Command("answer approve %s --question %s", job, question) + "    " + hint.Command("answer deny %s --question %s WHY", job, question)
	case name == "approve":
		return hint.Command("answer approve %s", job) + "    " + hint.Command("answer deny %s WHY", job)
	case name == "continue" && only:
		return hint.Command("answer %s --question %s continue|abort|WORDS", job, question)
	case name == "continue":
		return hint.Command("answer %s continue|abort|WORDS", job)
	case only:
		return hint.Command("answer %s --question %s WORDS", job, question)
	}
	return hint.Command("answer %s WORDS", job)
}

// Asked lists the questions of a job that asks several, each with the commands that
// answer it.
func Asked(d *adroit.JobDetail) (lines []string) {
	for i := range d.Questions {
		q := &d.Questions[i]
		lines = append(lines, "  "+QuestionLine(q))
		if len(q.Signals) > 0 {
			lines = append(lines, "     "+Answers(d.Job.ID, q.Signals[0], q.Path))
		}
	}
	return lines
}

// LastEvent is the event that ended a job's last run. If its runner died before
// it could emit one, it is made of how the job stands now.
func LastEvent(d *adroit.JobDetail, now time.Time) event.Event {
	if d.End != nil {
		return *d.End
	}
	j := d.Job
	data, err := json.Marshal(jobs.Final{Status: j.Status, Stopped: string(j.Status), Reason: j.Reason})
	if err != nil {
		panic(err) // strings
	}
	return event.Event{Job: j.ID, Time: now, Kind: event.JobFinished, Data: data}
}

// An Ending is the outcome of a run.
type Ending struct {
	Job       *adroit.JobDetail
	Took      time.Duration
	Artifacts *adroit.ArtifactList // nil if they are not to be shown
	Last      string               // the model's text that stands on the screen already
}

// Outcome renders how a run went: the reason, what it produced, the figures and the
// next commands to s, the model's last words to w.
func Outcome(s, w *kit.Screen, end Ending) {
	d := end.Job
	j, f := d.Job, d.Final
	if f == nil {
		f = &jobs.Final{Status: j.Status, Reason: j.Reason}
	}
	verdict := Verdict(j, f)
	if j.Status == jobs.Waiting && len(d.Questions) > 1 {
		verdict = append([]string{fmt.Sprintf("waiting for a person: %d questions", len(d.Questions))}, Asked(d)...)
	}
	for _, l := range verdict {
		fmt.Fprintln(s, s.Paint(StatusStyle(j.Status), kit.Sanitize(l)))
	}
	for _, r := range d.Changes.Incomplete {
		fmt.Fprintln(s, s.Paint(kit.Red, kit.SanitizeLine("incomplete: "+r)))
	}
	for _, l := range disconnected(d) {
		fmt.Fprintln(s, s.Paint(kit.Red, kit.Sanitize(l)))
	}
	// What stands on the screen may have the word behind it that says it is done.
	both := s.IsTerminal() && w.IsTerminal()
	text := strings.TrimSpace(f.Summary)
	if text != "" && j.Status.Final() && (!both || !strings.HasPrefix(end.Last, text)) {
		if w.IsTerminal() {
			fmt.Fprint(w, kit.NewMarkdown(w, kit.Plain, "").Text(text))
		} else {
			fmt.Fprintln(w, strings.TrimRight(f.Summary, "\n")) // data for a program or a file: as it is
		}
	}
	if end.Artifacts != nil {
		Product(s, end.Artifacts, text)
	}
	figures, next := Figures(f, d.Usage.Cost, end.Took), strings.Join(Next(d.Actions), "    ")
	between := "    "
	if n := s.Width(); n > 0 && kit.Columns(figures+between+next) > n {
		between = "\n"
	}
	if figures == "" || next == "" {
		between = ""
	}
	if line := figures + between + next; line != "" {
		fmt.Fprintln(s, line)
	}
}

// disconnected explains why a job's worktree cannot be worked with, and what connects it again.
func disconnected(d *adroit.JobDetail) (lines []string) {
	if d.Disconnected != nil {
		lines = append(lines, d.Disconnected.Message)
	}
	if lines != nil && d.Disconnected.Hint != "" {
		lines = append(lines, "hint: "+d.Disconnected.Hint)
	}
	return lines
}

// Verdict explains why a job stopped. The first line is the reason, the others list unmet
// criteria and other gaps.
func Verdict(job *jobs.Job, f *jobs.Final) []string {
	in := ""
	if f.Turns > 0 {
		in = " in " + kit.Plural(f.Turns, "turn")
	}
	switch job.Status {
	case jobs.Done:
		return []string{strings.TrimSuffix(fmt.Sprintf("done%s: %s", in, job.Reason), ": ")}
	case jobs.Answered, jobs.Planned:
		return []string{job.Status.Words() + ": " + job.Reason}
	case jobs.Waiting:
		return []string{"waiting for a person: " + QuestionLine(f.Waiting)}
	case jobs.Interrupted:
		return []string{"interrupted: " + strings.TrimPrefix(job.Reason, "interrupted: ") + "; nothing that was finished is lost"}
	case jobs.Cancelled:
		return []string{"cancelled" + in}
	}
	reason := job.Reason
	if len(f.Unmet) > 0 { // it has the first of the lines below
		reason = strings.TrimRight(strings.TrimSuffix(reason, f.Unmet[0]), ";: ")
	}
	out := []string{strings.TrimSuffix(fmt.Sprintf("%s%s: %s", job.Status.Words(), in, reason), ": ")}
	for _, u := range f.Unmet {
		out = append(out, "  not met: "+u)
	}
	return out
}

// Figures are a job's tokens, cost and time on one line, "" if it used no model.
func Figures(f *jobs.Final, usd float64, took time.Duration) string {
	if f.Usage.In+f.Usage.Out == 0 {
		return ""
	}
	s := kit.Count(f.Usage.In) + " tokens in"
	if f.Usage.Cached > 0 {
		s += fmt.Sprintf(" (%s cached)", kit.Count(f.Usage.Cached))
	}
	s += fmt.Sprintf(", %s out", kit.Count(f.Usage.Out))
	if usd > 0 {
		s += fmt.Sprintf(", %.4f USD", usd)
	}
	return s + ", " + kit.Duration(took)
}
