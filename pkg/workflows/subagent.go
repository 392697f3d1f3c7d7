package workflows

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/calling/schema"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/workflows/coordinator"
)

// spawn has a sub-agent work. What becomes of it is in the report, whatever it
// is: the error is one that ends the workflow.
func spawn(sc *executor.Scope, o executor.SubAgentRequest) (executor.Report, error) {
	rep, err := sc.Spawn(o)
	return rep, coordinator.Reported(err)
}

// spawnFor is spawn for an agent whose output the workflow reads as a T. One of the user's
// that has its name and another output, or none, answers with a T all the same.
func spawnFor[T any](sc *executor.Scope, o executor.SubAgentRequest) (executor.Report, error) {
	if sc.Task.Revision < 8 {
		return spawn(sc, o)
	}
	form, err := schema.Infer[T]()
	if err == nil {
		o.Spec, err = withOutput(sc.Task, o.Agent, form.JSON())
	}
	if err != nil {
		return executor.Report{}, err
	}
	return spawn(sc, o)
}

// withOutput is an agent whose output has all properties that form requires, nil if it has
// them as it is.
func withOutput(t *executor.Task, agent string, form json.RawMessage) (json.RawMessage, error) {
	a, ok, err := coordinator.Pinned(t, agent)
	if !ok || err != nil {
		return nil, err // without it, spawning it returns the error
	}
	var want, has struct {
		Required   []string
		Properties map[string]json.RawMessage
	}
	if err := json.Unmarshal(form, &want); err != nil {
		return nil, err
	}
	_ = json.Unmarshal(a.Output, &has) // without an output it has none
	if !slices.ContainsFunc(want.Required, func(name string) bool { return has.Properties[name] == nil }) {
		return nil, nil
	}
	a.Output, a.Done = form, executor.Criterion{}
	return json.Marshal(a)
}

// spawnAll has sub-agents work at once. All finish, and as with spawn what
// becomes of each is in its report.
func spawnAll(sc *executor.Scope, orders ...executor.SubAgentRequest) ([]executor.Report, error) {
	reps, err := sc.SpawnAll(orders...)
	return reps, coordinator.Reported(err)
}

// tooLong reports whether a turn of the model was ended because it asked for
// tools too often, while the task may have more turns: what it did stands, and
// the workflow may go on.
func tooLong(sc *executor.Scope, err error) bool {
	var stop *executor.StopError
	most := sc.Task.Limits.Or(executor.DefaultLimits).Turns
	return errors.As(err, &stop) && stop.Outcome.Limit == "turns" && (most <= 0 || sc.State.Turns < most)
}

// unchecked is an agent as it was pinned, but for a check of its definition of
// done: one that cannot hold, as that of tests in a project that has none.
func unchecked(sc *executor.Scope, agent, check string) (json.RawMessage, error) {
	a, ok, err := coordinator.Pinned(sc.Task, agent)
	if !ok || err != nil {
		return nil, err // without it, spawning it returns the error
	}
	a.Done.All = slices.DeleteFunc(a.Done.All, func(c executor.Criterion) bool { return c.Check == check })
	return json.Marshal(a)
}

// orient looks around without a model: the files, and how the work tree stands.
// git reports whether there is one that git keeps.
func orient(sc *executor.Scope) (words string, git bool, err error) {
	calls := []llm.Call{call("list_files", args{})}
	if sc.Has("git_status") {
		calls = append(calls, call("git_status", args{}))
	}
	replies, err := sc.Act(calls...)
	if err != nil {
		return "", false, err
	}
	words = "Files:\n" + clip(replies[0].Text, 4000)
	if len(replies) > 1 && !replies[1].Failed {
		git = true
		words += "\n\nGit:\n" + clip(replies[1].Text, 2000)
	}
	return words, git, nil
}

// given decodes an input that is bound to an artifact, as JSON or as what is
// written in a string: -i commit=true is one. It reports whether there is one.
func given(sc *executor.Scope, name string, v any) (bool, error) {
	var raw json.RawMessage
	if ok, err := sc.Value(name, &raw); !ok || err != nil {
		return false, err
	}
	if json.Unmarshal(raw, v) == nil {
		return true, nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil && json.Unmarshal([]byte(text), v) == nil {
		return true, nil
	}
	err := fmt.Errorf("input %s is %s, which is no %s", name, clip(string(raw), 100), strings.TrimPrefix(fmt.Sprintf("%T", v), "*"))
	switch v.(type) {
	case *bool:
		err = fmt.Errorf("%w; write -i %s=true or %s=false", err, name, name)
	case *int:
		err = fmt.Errorf("%w; write a number, as in -i %s=3", err, name)
	}
	return false, err
}

// clip keeps the beginning of a text, at a line's end.
func clip(s string, most int) string {
	s = strings.TrimSpace(s)
	if len(s) <= most {
		return s
	}
	head := s[:most]
	if i := strings.LastIndexByte(head, '\n'); i > 0 {
		head = head[:i]
	}
	return fmt.Sprintf("%s\n[%d of %d bytes]", strings.ToValidUTF8(head, ""), len(head), len(s))
}

// inputs are named values as a sub-agent is given them.
func inputs(a args) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for _, name := range slices.Sorted(maps.Keys(a)) {
		out[name], _ = json.Marshal(a[name]) // texts
	}
	return out
}

// value is an artifact as it is, nil if there is none.
func value(sc *executor.Scope, name string) json.RawMessage { return sc.State.Value(name) }

// text is a value that is a string, else its JSON.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return string(raw)
	}
	return s
}

// commits are the tools that no turn of a worker gets: whether to commit is the
// user's to say.
func commits() []string { return []string{"git_commit"} }

// commitWork commits what the job has changed, and nothing else, under a
// message that the agent commit_message writes.
func commitWork(sc *executor.Scope) (string, error) {
	diff := text(value(sc, "diff"))
	paths := changedPaths(diff)
	switch {
	case len(paths) == 0:
		return "", errors.New("there is nothing to commit: no file has changed")
	case cutDiff(sc, diff):
		return "", errors.New("it was not committed: the change is too large for its files to be told from the diff; commit it yourself")
	}
	rep, err := spawn(sc, executor.SubAgentRequest{Agent: "commit_message", Inputs: inputs(args{"diff": diff, "purpose": clip(sc.Task.Prompt, 2000)})})
	if err != nil {
		return "", err
	}
	var msg struct{ Subject, Body string }
	if rep.Status != executor.Done {
		return "", fmt.Errorf("it was not committed, there is no message: %s: %s", rep.Status, rep.Reason)
	}
	if err := rep.As(&msg); err != nil {
		return "", err
	}
	return commitOnce(sc, strings.TrimSpace(msg.Subject+"\n\n"+msg.Body), paths)
}

// cutDiff reports whether the job's diff lacks some of its changes.
func cutDiff(sc *executor.Scope, diff string) bool {
	if sc.Task.Revision < turn.CutDiffs {
		return turn.CutDiff(diff)
	}
	omitted := 0
	return json.Unmarshal(value(sc, turn.DiffOmitted), &omitted) == nil && omitted > 0
}

// commitOnce commits, and does not do it twice where the first time was cut
// short: the log states whether it has happened.
func commitOnce(sc *executor.Scope, message string, paths []string) (string, error) {
	subject, _, _ := strings.Cut(message, "\n")
	before, err := sc.Tool("git_log", args{"max": 1})
	if err != nil {
		return "", err
	}
	for {
		reply, err := sc.Tool("git_commit", args{"message": message, "paths": paths}, turn.Reported)
		if err != nil || !reply.Failed {
			return reply.Summary, err
		}
		if !reply.Interrupted {
			return "", fmt.Errorf("git_commit: %s", reply.Text)
		}
		after, err := sc.Tool("git_log", args{"max": 1})
		if err != nil {
			return "", err
		}
		if sc.Task.Revision < turn.TypedResults {
			if turn.Committed(before.Text, after.Text, subject) {
				return strings.TrimSpace(after.Text), nil
			}
			continue
		}
		if c := newest(after); c.Hash != newest(before).Hash && c.Subject == subject {
			return fmt.Sprintf("%.10s %s", c.Hash, c.Subject), nil
		}
	}
}

// newest is the last commit, by what git_log returns; zero if there is none.
func newest(log executor.ToolResult) (c struct{ Hash, Subject string }) {
	var list []struct{ Hash, Subject string }
	if json.Unmarshal(log.Value, &list) == nil && len(list) > 0 {
		c = list[0]
	}
	return c
}

// changedPaths are the files that a diff is about, without those that it does
// not show.
func changedPaths(diff string) (out []string) {
	head := false // between the line that begins a file's part and what changed in it
	for l := range strings.Lines(diff) {
		l = strings.TrimRight(l, "\r\n")
		names, begins := strings.CutPrefix(l, "diff --git ")
		from, left := strings.CutPrefix(l, "rename from ")
		switch {
		case begins:
			head = true
			if name := otherName(names); name != "" {
				out = append(out, name)
			}
		case strings.HasPrefix(l, "@@"):
			head = false
		case head && left:
			out = append(out, unquoted(from))
		case head && strings.HasPrefix(l, "rename to "):
			out = append(out, unquoted(strings.TrimPrefix(l, "rename to ")))
		case head && strings.HasPrefix(l, "# not shown") && len(out) > 0:
			out = out[:len(out)-1]
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// otherName is the name that stands twice behind diff --git, empty if it is two.
func otherName(names string) string {
	if len(names)%2 == 0 {
		return ""
	}
	a, b := unquoted(names[:len(names)/2]), unquoted(names[len(names)/2+1:])
	if len(a) < 3 || len(b) < 3 || a[2:] != b[2:] {
		return ""
	}
	return a[2:]
}

func unquoted(name string) string {
	if s, err := strconv.Unquote(name); err == nil {
		return s
	}
	return name
}
