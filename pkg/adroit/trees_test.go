package adroit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/internal/host/jobdir"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/internal/work/sandbox"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/jobs/sqlite"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/parts"
)

// obedient is a model that makes the calls in its prompt, one a line, and then
// finishes. Several agents can talk to it at once.
type obedient struct{}

func (obedient) Generate(_ context.Context, req *llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
	done := 0
	prompt := ""
	for _, m := range req.Messages {
		switch m.Role {
		case llm.Tool:
			done++
		case llm.User:
			if prompt == "" {
				prompt = m.Text
			}
		}
	}
	var calls []llm.Call
	for l := range strings.Lines(prompt) {
		if name, args, ok := strings.Cut(strings.TrimSpace(l), " {"); ok {
			calls = append(calls, llm.Call{Name: name, Args: json.RawMessage("{" + args)})
		}
	}
	r := &llm.Response{Usage: llm.Usage{In: 10, Out: 1}, Stop: llm.StopEnd}
	if done < len(calls) {
		calls[done].ID = fmt.Sprintf("c%d", done)
		r.Message, r.Stop = llm.Message{Role: llm.Assistant, Calls: calls[done : done+1]}, llm.StopCalls
		return r, nil
	}
	r.Message = llm.Message{Role: llm.Assistant, Text: "Done."}
	return r, nil
}

const (
	chief  = "---\ndescription: Hands out work.\nworkflow: hand_out\ntools: [read_file, write_file, shell]\nspawn: {agents: [worker, giver], depth: 2}\n---\nYou lead.\n"
	worker = "---\ndescription: Works.\ntools: [read_file, write_file, edit_file, shell]\nlimits: {turns: 8}\n---\nYou work.\n"
	giver  = "---\ndescription: Works, and has others work.\nworkflow: pass_on\ntools: [read_file, write_file, shell]\nspawn: [worker]\n---\nYou work.\n"
)

// orders are what the chief hands out: a JSON list of prompts.
func handOut(sc *executor.Scope) error {
	var prompts []string
	if err := json.Unmarshal([]byte(sc.Task.Prompt), &prompts); err != nil {
		return err
	}
	var orders []executor.SubAgentRequest
	for _, p := range prompts {
		agent := "worker"
		if rest, ok := strings.CutPrefix(p, "giver: "); ok {
			agent, p = "giver", rest
		}
		orders = append(orders, executor.SubAgentRequest{Agent: agent, Prompt: p, Worktree: true})
	}
	reps, err := sc.SpawnAll(orders...)
	if errors.As(err, new(*executor.SpawnError)) {
		err = nil
	}
	if err != nil {
		return err
	}
	return sc.Bind("reports", reps)
}

// passOn writes a file itself, has a worker of its own do the rest in a copy of
// its copy, and reads what came of it.
func passOn(sc *executor.Scope) error {
	if _, err := sc.Tool("write_file", map[string]string{"path": "giver.txt", "content": "by the giver\n"}); err != nil {
		return err
	}
	if _, err := sc.Spawn(executor.SubAgentRequest{Agent: "worker", Prompt: sc.Task.Prompt, Worktree: true}); err != nil {
		return err
	}
	return nil
}

func treesOptions(dir, data string) adroit.Options {
	var store func(context.Context) (jobs.Store, error)
	if data != "" {
		store = sqlite.Store(data)
	}
	return adroit.Options{
		Tools: parts.Tools(), Workspace: adroit.Workspace{Dir: dir}, Storage: adroit.Storage{Data: data, Store: store}, Model: "test/obedient", Models: map[string]llm.Model{"test": obedient{}},
		Definitions: adroit.Definitions{
			Agents: []agents.Layer{{Name: "mine", FS: fstest.MapFS{
				"chief.md": {Data: []byte(chief)}, "worker.md": {Data: []byte(worker)}, "giver.md": {Data: []byte(giver)},
			}}},
			Workflows: []flow.Workflow{agents.Define("hand_out", handOut), agents.Define("pass_on", passOn)},
		},
	}
}

func call(name string, args any) string {
	b, err := json.Marshal(args)
	if err != nil {
		panic(err)
	}
	return name + " " + string(b) + "\n"
}

func edit(path, old, new string) string {
	return call("edit_file", map[string]string{"path": path, "old": old, "new": new})
}

func put(path, text string) string {
	return call("write_file", map[string]string{"path": path, "content": text})
}

func sh(command string) string { return call("shell", map[string]string{"command": command}) }

// A field is a repository with something that is not committed.
func field(t *testing.T) string {
	t.Helper()
	dir := repository(t)
	var text strings.Builder
	for i := range 20 {
		fmt.Fprintf(&text, "line %d\n", i)
	}
	for name, text := range map[string]string{"long.txt": text.String(), "b.txt": "b\n", "sub/c.txt": "c\n"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// files are those of a tree without the repository.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.Name() == ".git" {
			if d != nil && d.IsDir() && d.Name() == ".git" {
				return filepath.SkipDir
			}
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String()
		if info.Mode().IsRegular() {
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			text += " " + string(b)
		}
		out[rel] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func gitOut(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// Workers write at once, each in a copy; what they did is brought together, in
// the order in which they were asked, and none of it overwrites another's.
func TestSubAgentsInWorktrees(t *testing.T) {
	for name, c := range map[string]struct {
		prompts   []string
		want      map[string]string // content, "-" for none
		joined    [][]string        // paths brought back of each
		conflicts [][]string
		failed    []bool
	}{
		"two files": {
			prompts: []string{edit("long.txt", "line 3", "one"), put("new/n.txt", "two\n") + edit("b.txt", "b", "two")},
			want:    map[string]string{"new/n.txt": "two\n", "b.txt": "two\n"}, joined: [][]string{{"long.txt"}, {"b.txt", "new/n.txt"}},
		},
		"two places": {
			prompts: []string{edit("long.txt", "line 3\n", "one\n"), edit("long.txt", "line 16\n", "two\n")},
			joined:  [][]string{{"long.txt"}, {"long.txt"}},
		},
		"the same line": {
			prompts: []string{edit("b.txt", "b", "one"), edit("b.txt", "b", "two") + put("n.txt", "two\n")},
			want:    map[string]string{"b.txt": "one\n", "n.txt": "two\n"}, joined: [][]string{{"b.txt"}, {"n.txt"}}, conflicts: [][]string{nil, {"b.txt"}},
		},
		"one fails": {
			prompts: []string{edit("b.txt", "b", "one") + strings.Repeat(sh("true"), 9), edit("long.txt", "line 16\n", "two\n")},
			want:    map[string]string{"b.txt": "b\n"}, joined: [][]string{nil, {"long.txt"}}, failed: []bool{true, false},
		},
		"by commands": {
			prompts: []string{sh("git mv a.txt moved.txt && git commit -qam moved"), sh("rm -r sub; echo two > b.txt")},
			want:    map[string]string{"moved.txt": "a\n", "a.txt": "-", "sub": "-", "b.txt": "two\n"}, joined: [][]string{{"a.txt", "moved.txt"}, {"b.txt", "sub/c.txt"}},
		},
		"a worker of a worker": {
			prompts: []string{"giver: " + sh("cat giver.txt > seen.txt") + edit("b.txt", "b", "deep"), put("n.txt", "two\n")},
			want:    map[string]string{"giver.txt": "by the giver\n", "seen.txt": "by the giver\n", "b.txt": "deep\n", "n.txt": "two\n"}, joined: [][]string{{"b.txt", "giver.txt", "seen.txt"}, {"n.txt"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, data := field(t), t.TempDir()
			before, status := files(t, dir), gitOut(t, dir, "status", "--porcelain")+gitOut(t, dir, "for-each-ref")
			rt := open(t, treesOptions(dir, data))
			reps, s, id := lead(t, rt, c.prompts)
			for i, r := range reps {
				var paths, conflicts []string
				if r.Joined != nil {
					paths, conflicts = r.Joined.Paths, r.Joined.Conflicts
				}
				if !slices.Equal(paths, c.joined[i]) {
					t.Errorf("of worker %d was brought back: %q, want %q; %+v", i, paths, c.joined[i], r)
				}
				if c.conflicts != nil && !slices.Equal(conflicts, c.conflicts[i]) {
					t.Errorf("of worker %d is in conflict: %q", i, conflicts)
				}
				bad := c.failed != nil && c.failed[i]
				if bad != (r.Status != executor.Done) || r.OK() != (!bad && len(conflicts) == 0) {
					t.Errorf("worker %d: %s: %s", i, r.Status, r.Reason)
				}
				kept := bad || len(conflicts) > 0
				if _, err := os.Stat(filepath.Join(data, "worktrees", id+"-"+r.Joined.Name)); kept != (err == nil) {
					t.Errorf("worker %d: worktree there: %v", i, err)
				}
				if bad && !strings.Contains(r.Reason, "not brought back, and is in "+r.Joined.Kept) {
					t.Errorf("worker %d does not say where its work is: %s", i, r.Reason)
				}
				if kept {
					b, err := os.ReadFile(filepath.Join(r.Joined.Kept, "b.txt"))
					if err != nil || string(b) == "b\n" {
						t.Errorf("the kept copy has %q, %v", b, err)
					}
				}
			}
			now := files(t, dir)
			for name, want := range c.want {
				_, got, _ := strings.Cut(now[name], " ")
				if _, there := now[name]; want == "-" && there || want != "-" && got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
			if name == "two places" && (!strings.Contains(now["long.txt"], "\none\n") || !strings.Contains(now["long.txt"], "\ntwo\n")) {
				t.Errorf("long.txt is %q", now["long.txt"])
			}
			var diff string
			if err := json.Unmarshal(s.Value("diff"), &diff); err != nil || !strings.Contains(diff, "+") {
				t.Errorf("the artifact diff is %q, %v", diff, err)
			}
			d, err := rt.Job(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if err := jobdir.RemoveTrees(t.Context(), data, id); err != nil {
				t.Error(err)
			}
			if left, _ := os.ReadDir(filepath.Join(data, "worktrees")); len(left) > 0 {
				t.Errorf("left over of %d: %v", len(d.Trees), left)
			}
			led, err := ledger.Open(filepath.Join(data, "jobs", id, "ledger"), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer led.Close()
			if u, err := led.Undo(t.Context(), dir); err != nil || len(u.Skipped) > 0 {
				t.Errorf("undo: %+v, %v", u, err)
			}
			if after := files(t, dir); !equalFiles(before, after) {
				t.Errorf("undo left %v, want %v", after, before)
			}
			if after := gitOut(t, dir, "status", "--porcelain") + gitOut(t, dir, "for-each-ref"); after != status {
				t.Errorf("the repository is\n%s, was\n%s", after, status)
			}
		})
	}
}

func equalFiles(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if b[k] != v {
			return false
		}
	}
	return true
}

// lead runs the chief with prompts and gives what its workers reported.
func lead(t *testing.T, rt *adroit.Runtime, prompts []string) ([]executor.Report, *executor.State, string) {
	t.Helper()
	b, err := json.Marshal(prompts)
	if err != nil {
		t.Fatal(err)
	}
	j, err := adroit.Start(t.Context(), rt, adroit.Request{Input: agents.Input{Agent: "chief", Prompt: string(b), Approve: executor.ApproveAll}})
	if err != nil {
		t.Fatal(err)
	}
	return reports(t, rt, j)
}

func reports(t *testing.T, rt *adroit.Runtime, j *adroit.Job) ([]executor.Report, *executor.State, string) {
	t.Helper()
	s, err := j.Wait(t.Context())
	if err != nil {
		for ev := range manager(t, rt).Store.Events(t.Context(), j.ID(), 0, false) {
			t.Logf("%s %s %s %s %s", ev.Path, ev.Kind, ev.Name, ev.Text, ev.Error)
		}
		t.Fatal(err)
	}
	var reps []executor.Report
	if err := json.Unmarshal(s.Value("reports"), &reps); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		for ev := range manager(t, rt).Store.Events(context.WithoutCancel(t.Context()), j.ID(), 0, false) {
			t.Logf("%s %s %s %s %s %s", ev.Path, ev.Kind, ev.Name, ev.Text, ev.Error, ev.Data)
		}
	})
	return reps, s, j.ID()
}

// TestTreesRunner is the process that TestSubAgentsKilled kills.
func TestTreesRunner(t *testing.T) {
	src := os.Getenv("ADROIT_TEST_TREES")
	if src == "" {
		return // TestSubAgentsKilled starts it
	}
	var in struct {
		Dir, Data, Prompt string
		Kill              int
	}
	if err := json.Unmarshal([]byte(src), &in); err != nil {
		t.Fatal(err)
	}
	o := treesOptions(in.Dir, in.Data)
	var seen atomic.Int64 // events come from several goroutines
	o.Emit = func(ev event.Event) {
		if ev.Step != "worktree" {
			return
		}
		if seen.Add(1) == int64(in.Kill) {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	rt := open(t, o)
	list, err := manager(t, rt).Store.List(t.Context(), jobs.Query{})
	if err != nil {
		t.Fatal(err)
	}
	var j *adroit.Job
	if len(list) == 0 {
		j, err = adroit.Start(t.Context(), rt, adroit.Request{Input: agents.Input{Agent: "chief", Prompt: in.Prompt, Approve: executor.ApproveAll}})
	} else {
		j, err = resume(t, rt, list[0].ID)
	}
	if err != nil {
		t.Fatal(err)
	}
	reps, _, _ := reports(t, rt, j)
	b, err := json.Marshal(reps)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(in.Data, "said"), b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A job whose runner is killed around making and joining worktrees goes on in
// another process, and ends with the same tree.
func TestSubAgentsKilled(t *testing.T) {
	testenv.Long(t, "starts many processes")
	prompt, err := json.Marshal([]string{edit("long.txt", "line 3\n", "one\n") + edit("b.txt", "b", "one"), edit("long.txt", "line 16\n", "two\n") + edit("b.txt", "b", "two")})
	if err != nil {
		t.Fatal(err)
	}
	run := func(t *testing.T, dir, data string, kill int) bool {
		t.Helper()
		src, err := json.Marshal(map[string]any{"Dir": dir, "Data": data, "Prompt": string(prompt), "Kill": kill})
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(os.Args[0], "-test.run=^TestTreesRunner$")
		cmd.Env = append(os.Environ(), "ADROIT_TEST_TREES="+string(src))
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
			return true
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return false
	}
	var want map[string]string
	for n := 0; ; n++ {
		dir, data := field(t), t.TempDir()
		before := files(t, dir)
		killed := run(t, dir, data, n)
		if n > 0 && !killed {
			if n < 9 {
				t.Errorf("there were only %d events", n-1)
			}
			return
		}
		if killed && run(t, dir, data, 0) {
			t.Fatal("killed without a kill point")
		}
		got := files(t, dir)
		if n == 0 {
			want = got
			if !strings.Contains(want["long.txt"], "\none\n") || !strings.Contains(want["long.txt"], "\ntwo\n") || !strings.HasSuffix(want["b.txt"], "one\n") {
				t.Fatal(want)
			}
		}
		if !equalFiles(got, want) {
			t.Errorf("killed at event %d: %v, want %v", n, got, want)
		}
		b, err := os.ReadFile(filepath.Join(data, "said"))
		var reps []executor.Report
		if err := errors.Join(err, json.Unmarshal(b, &reps)); err != nil {
			t.Fatal(err)
		}
		switch {
		case len(reps) != 2:
			t.Errorf("len(reps) is %v, want 2: killed at event %d: %s", len(reps), n, b)
		case !reps[0].OK():
			t.Errorf("reps[0].OK() is false: killed at event %d: %s", n, b)
		case reps[1].OK():
			t.Errorf("reps[1].OK() is true: killed at event %d: %s", n, b)
		case !slices.Equal(reps[1].Joined.Conflicts, []string{"b.txt"}):
			t.Errorf(`slices.Equal(reps[1].Joined.Conflicts, []string{"b.txt"}) is false: killed at event %d: %s`, n, b)
		case !slices.Equal(reps[1].Joined.Paths, []string{"long.txt"}):
			t.Errorf(`slices.Equal(reps[1].Joined.Paths, []string{"long.txt"}) is false: killed at event %d: %s`, n, b)
		}
		all, err := os.ReadDir(filepath.Join(data, "jobs"))
		if err != nil || len(all) != 1 {
			t.Fatal(all, err)
		}
		led, err := ledger.Open(filepath.Join(data, "jobs", all[0].Name(), "ledger"), nil)
		if err != nil {
			t.Fatal(err)
		}
		if u, err := led.Undo(t.Context(), dir); err != nil || len(u.Skipped) > 0 {
			t.Errorf("killed at event %d: undo: %+v, %v", n, u, err)
		}
		led.Close()
		if after := files(t, dir); !equalFiles(after, before) {
			t.Errorf("killed at event %d: undo left %v", n, after)
		}
	}
}

// A worker's commands write in its copy and nowhere else, and what they leave
// there for git to run is not run when the copy is joined.
func TestSubAgentsAreConfined(t *testing.T) {
	level := sandbox.Choose(sandbox.Auto)
	if level.Err() != nil || level.Level == sandbox.Off {
		t.Skip("there is no sandbox here")
	}
	dir, data := field(t), t.TempDir()
	mark := filepath.Join(t.TempDir(), "ran")
	trap := filepath.Join(t.TempDir(), "trap.sh")
	if err := os.WriteFile(trap, []byte("#!/bin/sh\necho x >>"+mark+"\ncat\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	before := files(t, dir)
	config := gitOut(t, dir, "config", "--list", "--local")
	rt := open(t, treesOptions(dir, data))
	reps, _, id := lead(t, rt, []string{
		sh("echo bad > "+dir+"/long.txt; echo bad > "+dir+"/bad.txt; rm -f "+dir+"/b.txt; echo x > "+dir+"/.git/hooks/post-checkout; true") +
			sh("git config core.fsmonitor "+trap+"; git config filter.x.clean "+trap+"; git config --worktree core.fsmonitor "+trap+"; "+
				"echo '* filter=x' > .gitattributes; H=$(git rev-parse --git-path hooks); mkdir -p $H; cp "+trap+" $H/post-checkout; cp "+trap+" $H/reference-transaction; "+
				"echo '* filter=x' > $(git rev-parse --git-path info/attributes); "+
				"A=$(git rev-parse --git-dir); printf '[core]\\n\\tfsmonitor = "+trap+"\\n' > $A/config.worktree; mkdir -p $A/hooks; cp "+trap+" $A/hooks/post-index-change; true") +
			sh("rm -f .git; git init -q . ; git config core.fsmonitor "+trap+"; git config filter.x.clean "+trap+"; true") +
			put("n.txt", "worker\n"),
		put("m.txt", "other\n"),
	})
	if !reps[0].OK() || !slices.Contains(reps[0].Joined.Paths, "n.txt") || !reps[1].OK() {
		t.Errorf("%+v", reps)
	}
	if b, err := os.ReadFile(mark); err == nil {
		t.Errorf("a program of the worker ran outside of its sandbox: %s", b)
	}
	now := files(t, dir)
	for name, want := range before {
		if now[name] != want && name != "." {
			t.Errorf("%s is %q, was %q", name, now[name], want)
		}
	}
	if now["bad.txt"] != "" {
		t.Error("a command wrote into the job's own tree")
	}
	if after := gitOut(t, dir, "config", "--list", "--local"); after != config {
		t.Errorf("the settings of the repository are\n%s, were\n%s", after, config)
	}
	if _, err := os.Stat(filepath.Join(dir, ".git/hooks/post-checkout")); err == nil {
		t.Error("a command made a hook")
	}
	if d, err := rt.Job(t.Context(), id); err != nil || len(d.Trees) > 0 {
		t.Errorf("left over: %+v, %v", d, err)
	}
}

// The rules of the job hold in a worktree of a job's own too, and where there is
// no repository.
func TestSubAgentsElsewhere(t *testing.T) {
	t.Run("a worktree of the job's own", func(t *testing.T) {
		dir, data := field(t), t.TempDir()
		gitOut(t, dir, "add", ".")
		gitOut(t, dir, "commit", "-qm", "all")
		before := files(t, dir)
		rt := open(t, treesOptions(dir, data))
		prompt, _ := json.Marshal([]string{edit("b.txt", "b", "one"), sh("echo two > n.txt; git add . && git commit -qm two")})
		j, err := adroit.Start(t.Context(), rt, adroit.Request{Input: agents.Input{Agent: "chief", Prompt: string(prompt), Approve: executor.ApproveAll, Worktree: true}})
		if err != nil {
			t.Fatal(err)
		}
		reps, _, id := reports(t, rt, j)
		d, err := rt.Job(t.Context(), id)
		switch {
		case err != nil:
			t.Fatalf("unexpected error: %+v, %v", reps, err)
		case d.Worktree == nil:
			t.Fatalf("d.Worktree is nil: %+v, %v", reps, err)
		case !reps[0].OK():
			t.Fatalf("reps[0].OK() is false: %+v, %v", reps, err)
		case !reps[1].OK():
			t.Fatalf("reps[1].OK() is false: %+v, %v", reps, err)
		}
		got := files(t, d.Worktree.Dir())
		if !strings.HasSuffix(got["b.txt"], " one\n") || !strings.HasSuffix(got["n.txt"], " two\n") {
			t.Errorf("%v", got)
		}
		if now := files(t, dir); !equalFiles(now, before) {
			t.Errorf("the repository's own tree is %v", now)
		}
		if m, err := rt.Merge(t.Context(), id, "Work"); err != nil || len(m.Paths) != 2 {
			t.Errorf("%+v, %v", m, err)
		}
		if _, err := rt.Remove(t.Context(), id, adroit.RemoveOptions{}); err != nil {
			t.Error(err)
		}
		if out := gitOut(t, dir, "branch", "--list") + gitOut(t, dir, "worktree", "list"); strings.Contains(out, id) {
			t.Errorf("left over: %s", out)
		}
	})
	t.Run("no repository", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "b.txt"), []byte("b\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		rt := open(t, treesOptions(dir, "")) // in memory
		reps, _, _ := lead(t, rt, []string{edit("b.txt", "b", "one"), edit("b.txt", "b", "two") + put("n.txt", "two\n")})
		got := files(t, dir)
		switch {
		case !reps[0].OK():
			t.Errorf("reps[0].OK() is false: %+v, %v", reps, got)
		case reps[1].OK():
			t.Errorf("reps[1].OK() is true: %+v, %v", reps, got)
		case !strings.HasSuffix(got["b.txt"], " one\n"):
			t.Errorf(`strings.HasSuffix(got["b.txt"], " one\n") is false: %+v, %v`, reps, got)
		case !strings.HasSuffix(got["n.txt"], " two\n"):
			t.Errorf(`strings.HasSuffix(got["n.txt"], " two\n") is false: %+v, %v`, reps, got)
		case reps[1].Joined.Branch != "":
			t.Errorf(`reps[1].Joined.Branch is %v, want "": %+v, %v`, reps[1].Joined.Branch, reps, got)
		}
		if err := rt.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(reps[1].Joined.Kept); err == nil {
			t.Error("what was kept in memory is still there")
		}
	})
}
