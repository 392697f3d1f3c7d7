// Package show turns values into text for people: jobs, questions, changes, plans,
// outcomes, graphs of what a job did, and its events as they come. It takes values and
// returns text or writes to the stream that it is given; it opens no files, asks nobody
// and ends no process.
//
//	show.Jobs(screen, list, time.Now(), names)
//
// Text that others wrote is sanitized before it reaches a terminal: see package kit.
package show

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/builtin/control"
	"github.com/adroit-run/adroit/internal/text/hint"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
)

// Jobs renders a list of jobs, a row each; home, which may be nil, shortens the
// directories, which are shown with it.
func Jobs(s *kit.Screen, list []adroit.JobSummary, now time.Time, home func(string) string) {
	var t kit.Table
	if s.IsTerminal() && len(list) > 0 {
		t.Row("job", "agent", "status", "started", "task")
	}
	for _, j := range list {
		task := fmt.Sprintf("%q", kit.Cut(j.Title, 60))
		if p := position(j.Position); p != "" {
			task = p + ": " + task
		}
		if j.Queue > 0 {
			task = fmt.Sprintf("number %d: %s", j.Queue, task)
		}
		if home != nil {
			task = home(j.Dir) + ": " + task
		}
		t.Row(j.ID, kit.Cut(j.Agent, 18), string(j.Status), kit.Ago(now, j.Created), task)
	}
	t.Fit(s.Width())
	t.Write(s)
}

// status is a job's status, of an interrupted one with where it stopped.
func status(j *jobs.Job, p *adroit.Position) string {
	return strings.TrimSpace(string(j.Status) + " " + position(p))
}

// position renders the place at which an interrupted job stopped, "" if it has done
// nothing.
func position(p *adroit.Position) string {
	switch {
	case p == nil || p.Calls == 0 && p.Turns == 0:
		return ""
	case p.Tool != "":
		return fmt.Sprintf("at step %d of turn %d", p.Calls+1, p.Turns)
	}
	return fmt.Sprintf("after step %d of turn %d", p.Calls, p.Turns)
}

// Job renders all that is known of a job; home shortens paths.
func Job(w io.Writer, d *adroit.JobDetail, home func(string) string) {
	var t kit.Table
	put := func(label, value string) {
		if value != "" {
			t.Row(label, value)
		}
	}
	j := d.Job
	put("job", j.ID)
	put("agent", j.Agent)
	put("title", j.Title)
	put("model", j.Model)
	put("directory", Place(d, home))
	put("host", d.Config.Host)
	put("status", status(j, d.Position))
	if d.Queue > 0 {
		put("queue", fmt.Sprintf("number %d; it starts by itself, and %s takes it out", d.Queue, hint.Command("jobs cancel %s", j.ID)))
	}
	put("reason", j.Reason)
	if j.Cancel && !j.Status.Final() {
		put("cancel", "asked for, not confirmed yet")
	}
	if j.Crashes > 0 {
		put("crashes", fmt.Sprint(j.Crashes))
	}
	put("created", j.Created.Local().Format(time.DateTime))
	if !j.Finished.IsZero() {
		put("finished", j.Finished.Local().Format(time.DateTime))
	}
	if d.Final == nil || d.End == nil && !j.Status.Final() {
		usageRows(d.Usage.Total, put)
	} else {
		finalRows(d, put)
	}
	if d.Unread > 0 {
		put("unread", kit.Plural(d.Unread, "message"))
	}
	if j.Status == jobs.Waiting {
		for _, s := range j.Signals {
			if name := SignalName(s.Name); name != turn.MessageSignal {
				put("answered", kit.SanitizeLine(strings.TrimSpace(name+" "+Readable(s.Value))))
			}
		}
	}
	changeRows(d.Changes, put)
	treeRows(d, home, put)
	put("next", strings.Join(Next(d.Actions), "    "))
	t.Write(w)
	var list []control.TodoItem
	if json.Unmarshal(d.Todo, &list) == nil && len(list) > 0 {
		fmt.Fprintf(w, "\n%s\n", strings.Join(TodoLines(list, len(list)), "\n"))
	}
	if text := Parts(d); text != "" {
		fmt.Fprintf(w, "\n%s", text)
	}
	for i := range d.Questions {
		q := &d.Questions[i]
		text, _ := Question(q, -1, 0)
		fmt.Fprint(w, "\n", text, RuleLine(q))
		if len(d.Questions) > 1 && len(q.Signals) > 0 {
			fmt.Fprintf(w, "     %s\n", Answers(d.Job.ID, q.Signals[0], q.Path))
		}
	}
	if f := d.Final; f != nil && strings.TrimSpace(f.Summary) != "" {
		fmt.Fprintf(w, "\n%s\n", kit.Sanitize(strings.TrimSpace(f.Summary)))
	}
}

// Place renders the directory in which a job works, and the worktree's repository and
// branch.
func Place(d *adroit.JobDetail, home func(string) string) string {
	w := d.Worktree
	if w == nil {
		return home(d.Job.Dir)
	}
	return fmt.Sprintf("%s, worktree of %s on branch %s", home(d.Job.Dir), home(filepath.Join(w.Repo, filepath.FromSlash(w.Sub))), w.Branch)
}

// Usage renders what a job has used so far.
func Usage(w io.Writer, d *adroit.JobDetail) {
	var t kit.Table
	put := func(label, value string) {
		if value != "" {
			t.Row(label, value)
		}
	}
	put("model", d.Job.Model)
	usageRows(d.Usage.Total, put)
	for _, m := range d.Usage.Models {
		put("used", modelRow(m))
	}
	t.Write(w)
}

// usageRows adds the usage so far of a job that has not ended.
func usageRows(f jobs.Figures, put func(label, value string)) {
	if f.Turns > 0 {
		put("turns", kit.Count(f.Turns))
	}
	if f.Usage.In+f.Usage.Out > 0 {
		put("tokens", tokens(f.Usage))
	}
	if f.Cost > 0 {
		put("cost", fmt.Sprintf("%.4f USD", f.Cost))
	}
}

func tokens(u llm.Usage) string {
	return fmt.Sprintf("%s in (%s cached), %s out", kit.Count(u.In), kit.Count(u.Cached), kit.Count(u.Out))
}

// finalRows adds the outcome and the usage of a job's last run.
func finalRows(d *adroit.JobDetail, put func(label, value string)) {
	f := d.Final
	for _, m := range f.Met {
		if slices.Contains(f.Unchecked, m) {
			put("not checked", m)
		} else {
			put("met", m)
		}
	}
	for _, u := range f.Unmet {
		put("not met", u)
	}
	put("artifacts", strings.Join(f.Artifacts, ", "))
	if f.Turns > 0 {
		put("turns", fmt.Sprint(f.Turns))
	}
	if f.Usage.In > 0 {
		put("tokens", tokens(f.Usage))
	}
	if d.Usage.Cost > 0 {
		text := fmt.Sprintf("%.4f USD", d.Usage.Cost)
		if day := d.Usage.PricesOf; day != "" {
			text += ", at prices of " + day
		}
		put("cost", text)
	}
	for _, m := range d.Usage.Models {
		put("used", modelRow(m))
	}
	put("context", JobContext(d.Job))
}

func modelRow(m adroit.ModelUsage) string {
	text := fmt.Sprintf("%s: %s tokens in (%s cached), %s out", m.Model, kit.Count(m.In), kit.Count(m.Cached), kit.Count(m.Out))
	if m.Cost > 0 {
		text += fmt.Sprintf(", %.4f USD", m.Cost)
	}
	return text
}

// changeRows are the record of the files that a job changed.
func changeRows(c adroit.ChangeSummary, put func(label, value string)) {
	if c.Unreadable != "" {
		put("changes", "not known: "+c.Unreadable)
		return
	}
	put("changed by", strings.Join(spelling.First(c.Steps, 8), ", "))
	for _, r := range c.Incomplete {
		put("incomplete", r)
	}
	if c.Bytes > 0 {
		put("kept for undo", kit.Bytes(c.Bytes))
	}
}

// treeRows are the worktrees of a job's sub-agents.
func treeRows(d *adroit.JobDetail, home func(string) string, put func(label, value string)) {
	if d.Unreadable != "" {
		put("worktrees", "not known: "+d.Unreadable)
	}
	for _, l := range disconnected(d) {
		put("worktree", l)
	}
	for _, t := range d.Trees {
		state := "in use"
		switch {
		case len(t.Conflicts) > 0:
			var names []string
			for _, c := range t.Conflicts {
				names = append(names, c.Path+" ("+c.Reason+")")
			}
			state = "not brought back: " + strings.Join(names, ", ")
		case d.Job.Status != jobs.Running:
			state = "nothing brought back: its sub-agent is not done"
		}
		put("worktree "+t.Name, home(t.Dir)+", "+state)
		if t.Branch != "" && len(t.Conflicts) > 0 {
			put("", fmt.Sprintf("git diff %.10s %s shows its version", t.Base, t.Branch))
		}
	}
}

// Parts renders the parts of a job: each below the one it is in, whose figures
// include its own. It is empty if the job has no parts.
func Parts(d *adroit.JobDetail) string {
	if len(d.Usage.Parts) == 0 {
		return ""
	}
	depth := map[string]int{}
	for _, p := range d.Usage.Parts {
		depth[p.Path] = depth[p.Within] + 1
	}
	parts, more := outermost(d.Usage.Parts, depth)
	var t kit.Table
	t.Row("parts:", "status", "turns", "calls", "tokens in", "out", "cost", "time", "attempts", "retries", "path")
	row := func(title, status string, f jobs.Figures, more ...string) {
		cost := "-"
		if f.Cost > 0 {
			cost = fmt.Sprintf("%.4f USD", f.Cost)
		}
		t.Row(append([]string{title, status, kit.Count(f.Turns), kit.Count(f.Calls), kit.Count(f.Usage.In), kit.Count(f.Usage.Out), cost}, more...)...)
	}
	for i := range parts {
		p := &parts[i]
		title := p.Title()
		if p.Step != "" && p.Agent != "" && p.Agent != p.Step {
			title += " (" + p.Agent + ")"
		}
		if p.About != "" {
			title += ": " + kit.Cut(p.About, 40)
		}
		row(strings.Repeat("  ", depth[p.Path])+title, p.Status, p.Figures, kit.Duration(p.Took), kit.Count(max(p.Attempts, 1)), kit.Count(p.Retries), strings.TrimSpace(p.Path+" "+other(p.Model, d.Job.Model)))
	}
	if f := d.Final; f != nil && f.Own != nil {
		row("  outside of parts", "", *f.Own)
	}
	var b strings.Builder
	t.Write(&b)
	if more > 0 {
		fmt.Fprintf(&b, "  and %s within these; --json has all of them\n", kit.Plural(more, "more part"))
	}
	return b.String()
}

// maxParts bounds the number of parts that are shown. The last event of a run lists as
// many.
const maxParts = 100

// outermost are the first maxParts parts by depth, in the order of all, and
// how many more there are.
func outermost(all []jobs.Part, depth map[string]int) (parts []jobs.Part, more int) {
	if len(all) <= maxParts {
		return all, 0
	}
	byDepth := slices.Clone(all)
	slices.SortStableFunc(byDepth, func(p, q jobs.Part) int {
		return cmp.Or(cmp.Compare(depth[p.Path], depth[q.Path]), flow.Compare(p.Path, q.Path))
	})
	kept := map[string]bool{}
	for _, p := range byDepth[:maxParts] {
		kept[p.Path] = true
	}
	parts = slices.DeleteFunc(slices.Clone(all), func(p jobs.Part) bool { return !kept[p.Path] })
	return parts, len(all) - len(parts)
}

// other is a model if it is not the usual one.
func other(model, usual string) string {
	if model == usual {
		return ""
	}
	return model
}
