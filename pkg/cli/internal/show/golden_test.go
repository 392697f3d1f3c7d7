package show

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/git/worktree"
	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing them")

// golden compares what was rendered with a file in testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	dirtest.Golden(t, *update, filepath.Join("testdata", name+".golden"), got)
}

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.Local) // tables have local time

func job(status jobs.Status) *jobs.Job {
	return &jobs.Job{ID: "J1", Agent: "builder", Title: "Repair the cart", Dir: "/home/ann/cart", Model: "ollama/qwen3:8b", Status: status,
		Created: noon.Add(-time.Hour), Started: noon.Add(-time.Hour), Updated: noon, Finished: noon}
}

// home shortens paths as kit.Env.Home does.
func home(path string) string { return strings.Replace(path, "/home/ann", "~", 1) }

// ended is a job that is done, with everything a detail may have.
func ended() *adroit.JobDetail {
	j := job(jobs.Done)
	j.Reason, j.Crashes = "the tests pass", 1
	j.Output = json.RawMessage(`{"context":{"tokens":1200,"limit":8000,"compactions":1,"dropped":2,"shortened":1,"summarised":3}}`)
	figures := jobs.Figures{Turns: 3, Calls: 2, Usage: llm.Usage{In: 1200, Out: 30, Cached: 100}, Cost: 0.5}
	return &adroit.JobDetail{
		Job: j, End: &event.Event{Job: "J1", Seq: 9, Kind: event.JobFinished, Data: json.RawMessage(`{"status":"done"}`)},
		Final: &jobs.Final{Status: jobs.Done, Met: []string{"run_tests passes"}, Unmet: []string{"a file \x1b[2J"}, Summary: "Repaired.\n\x1b]0;title\x07", Turns: 5,
			Artifacts: []string{"diff", "output"}, Usage: llm.Usage{In: 12345, Out: 678, Cached: 1000}, Own: &figures},
		Usage: adroit.UsageDetail{
			Total: figures, Cost: 1.25,
			Models: []adroit.ModelUsage{{Model: "a/cheap", Usage: llm.Usage{In: 10, Out: 2}}, {Model: "b/dear", Usage: llm.Usage{In: 12335, Out: 676}, Cost: 1.25}},
			Parts: []jobs.Part{
				{Path: "2", Agent: "explorer", About: "Find where the prices are rounded, and who calls that", Model: "a/cheap", Status: "done", Took: 90 * time.Second, Figures: figures},
				{Path: "2.1", Within: "2", Step: "look", Agent: "reader", Model: "ollama/qwen3:8b", Status: "failed", Attempts: 2, Retries: 1, Took: time.Second},
			},
		},
		Changes:  adroit.ChangeSummary{Changed: true, Steps: strings.Fields("1 2 3 4 5 6 7 8 9 10"), Bytes: 20_000, Incomplete: []string{"a command was cut short"}},
		Worktree: &worktree.Worktree{Repo: "/home/ann/shop", Sub: "cart", Branch: "adroit/J1/work"},
		Trees: []adroit.KeptTree{
			{Name: "one", Dir: "/home/ann/one", Branch: "adroit/J1-one/work", Base: "0123456789abcdef", Conflicts: []ledger.Skipped{{Path: "a.go", Reason: "both changed it"}}},
			{Name: "two", Dir: "/home/ann/two"},
		},
		Actions: []adroit.Action{{Do: "diff", Job: "J1"}, {Do: "undo", Job: "J1"}},
	}
}

// died is a job whose runner died, and that asks a question since.
func died() *adroit.JobDetail {
	j := job(jobs.Interrupted)
	j.Finished, j.Cancel = time.Time{}, true
	return &adroit.JobDetail{
		Job: j, Position: &adroit.Position{Turns: 3, Calls: 4, Tool: "shell"}, Final: &jobs.Final{Status: jobs.Waiting},
		Usage:      adroit.UsageDetail{Total: jobs.Figures{Turns: 3, Usage: llm.Usage{In: 2000, Out: 10}, Cost: 0.01}},
		Changes:    adroit.ChangeSummary{Unreadable: "the journal is torn", Incomplete: []string{"the journal is torn"}},
		Unreadable: "no such directory", Disconnected: &problem.Error{Message: "the repository has forgotten it", Hint: "git worktree repair"},
		Questions: []jobs.Question{{Path: "5", Signals: []string{"approve@5"}, About: json.RawMessage(`{"tool":"shell","args":{"command":"make"}}`)}},
		Actions:   []adroit.Action{{Do: "resume", Job: "J1"}},
	}
}

// What commands print of a value is compared as a whole, without a process.
func TestGolden(t *testing.T) {
	summary := func(status jobs.Status, p *adroit.Position, actions ...adroit.Action) adroit.JobSummary {
		return adroit.JobSummary{Job: job(status), Position: p, Actions: actions}
	}
	plain := kit.NewPlain
	for name, do := range map[string]func(out, err *bytes.Buffer) error{
		"jobs": func(out, _ *bytes.Buffer) error {
			Jobs(plain(out), []adroit.JobSummary{
				summary(jobs.Running, nil, adroit.Action{Do: "logs", Job: "J1", Follow: true}),
				summary(jobs.Interrupted, &adroit.Position{}),
				summary(jobs.Interrupted, &adroit.Position{Turns: 2, Calls: 3}, adroit.Action{Do: "resume", Job: "J1"}),
				summary(jobs.Interrupted, &adroit.Position{Turns: 2, Calls: 3, Tool: "shell"}),
			}, noon, nil)
			return nil
		},
		"job_done":        func(out, _ *bytes.Buffer) error { Job(out, ended(), home); return nil },
		"job_interrupted": func(out, _ *bytes.Buffer) error { Job(out, died(), home); return nil },
		"outcome_done": func(out, err *bytes.Buffer) error {
			Outcome(plain(err), plain(out), Ending{Job: ended(), Took: time.Minute})
			return nil
		},
		"outcome_interrupted": func(out, err *bytes.Buffer) error {
			Outcome(plain(err), plain(out), Ending{Job: died(), Took: time.Minute})
			Event(out, LastEvent(ended(), time.Time{}))
			Event(out, LastEvent(died(), time.Unix(0, 0).UTC()))
			return nil
		},
		"artifacts": func(out, _ *bytes.Buffer) error {
			text, object := executor.Artifact{Value: json.RawMessage(`"two\nlines\n"`), Tool: "write", Version: 2}, executor.Artifact{Value: json.RawMessage(`{"a":"<b>"}`), Tool: "count", Version: 1}
			Artifacts(out, &adroit.ArtifactList{Job: "J1", Artifacts: map[string]executor.Artifact{"text": text, "object": object}})
			if err := Artifact(plain(out), text); err != nil {
				return err
			}
			return Artifact(plain(out), object)
		},
		"changes": func(out, err *bytes.Buffer) error {
			list := []ledger.Change{{Path: "a.go", Kind: ledger.Modified, Step: "3"}, {Path: "c.go", From: "b.go", Kind: ledger.Renamed, Step: "3"}, {Path: "d\n.go", Kind: ledger.Created, Step: "4", Uncertain: true}}
			Steps(out, []adroit.Step{{Step: "3", Changes: list, Name: "shell"}})
			Refs(out, &adroit.Diff{Refs: []ledger.Change{{Path: "HEAD", Before: "ref: refs/heads/main", After: "ref: refs/heads/topic"}, {Path: "index", Before: "0", After: "1"},
				{Path: "refs/heads/topic", Before: "0123456789abcdef", After: "fedcba98765432100"}, {Path: "refs/tags/v1", After: "0123456789abcdef", Uncertain: true}, {Path: "refs/tags/v0", Before: "0123456789abcdef"}},
				Commits: []ledger.Commit{{ID: "fedcba98765432100", Subject: "Tidy\x1b", Guarded: []string{".vscode/tasks.json"}, Unlisted: []string{"x"}}}})
			Diff(plain(out), "--- a/x\n+++ b/x\n+\x1b[1m\n")
			fmt.Fprintln(out, Uncertain(out, list), Uncertain(out, list[:1]))
			return nil
		},
		"undo": func(out, err *bytes.Buffer) error {
			r := &adroit.UndoReport{Job: "J1", Step: "undo.1", Restored: []string{"a"}, Removed: []string{"b"}, Moved: []ledger.Change{{Path: "refs/heads/main", Before: "0123456789abcdef", After: "fedcba98765432100"}}, Skipped: []adroit.Skipped{{Path: "c", Reason: "changed since"}}}
			Undo(out, err, r)
			Undo(out, err, &adroit.UndoReport{Job: "J2"})
			CommitsKept(err, []string{"0123abc Repair the cart"})
			return nil
		},
		"signal": func(out, _ *bytes.Buffer) error {
			SignalSent(out, "approve", &adroit.SignalSent{Job: job(jobs.Waiting), Question: &died().Questions[0]})
			SignalSent(out, "con\ntinue", &adroit.SignalSent{Job: job(jobs.Running), Early: true})
			return nil
		},
		"merge": func(out, err *bytes.Buffer) error {
			Merge(out, err, &adroit.MergeReport{Job: "J1", Repo: "/home/ann/shop", Into: "main", Commit: "0123456789abcdef", Paths: []string{"a.go", "out/b.go"}, Hidden: []string{"out/b.go"}}, home)
			Merge(out, err, &adroit.MergeReport{Job: "J2", Into: "main"}, home)
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out, stderr bytes.Buffer
			if err := do(&out, &stderr); err != nil {
				t.Fatal(err)
			}
			if stderr.Len() > 0 {
				fmt.Fprintf(&out, "-- stderr --\n%s", stderr.Bytes())
			}
			golden(t, name, out.Bytes())
		})
	}
}

// A long list of parts shows the outermost ones, in their order.
func TestPartsAreBounded(t *testing.T) {
	d := ended()
	d.Usage.Parts = nil
	for i := range maxParts {
		path := fmt.Sprint(i + 1)
		d.Usage.Parts = append(d.Usage.Parts, jobs.Part{Path: path, Agent: "outer" + path}, jobs.Part{Path: path + ".1", Within: path, Agent: "inner"})
	}
	got := Parts(d)
	if strings.Contains(got, "inner") || !strings.Contains(got, fmt.Sprintf("outer%d ", maxParts)) || !strings.Contains(got, fmt.Sprintf("and %d more parts within these", maxParts)) {
		t.Error(got)
	}
}
