package workflows

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/executor"
)

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
