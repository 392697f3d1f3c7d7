package adroit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/adroit-run/adroit/internal/memory"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/jobs/sqlite"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/parts"
	"github.com/adroit-run/adroit/pkg/tools"
)

// asked is a model that keeps what it is asked; turn says what it answers.
type asked struct {
	mu       sync.Mutex
	requests []*llm.Request
	turn     func(req *llm.Request) llm.Message
}

func (a *asked) Generate(_ context.Context, req *llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests = append(a.requests, req)
	m := a.turn(req)
	m.Role = llm.Assistant
	return &llm.Response{Message: m}, nil
}

// opening is the first message of a user in a request.
func opening(req *llm.Request) string {
	for _, m := range req.Messages {
		if m.Role == llm.User {
			return m.Text
		}
	}
	return ""
}

func hasTool(req *llm.Request, name string) bool {
	for _, t := range req.Tools {
		if t.Name == name {
			return true
		}
	}
	return false
}

func calling(name string, args any) llm.Message {
	b, _ := json.Marshal(args)
	return llm.Message{Calls: []llm.Call{{ID: "1", Name: name, Args: b}}}
}

func memoryOptions(t *testing.T, m llm.Model) adroit.Options {
	data := t.TempDir()
	return adroit.Options{Tools: parts.Tools(), Models: map[string]llm.Model{"script": m}, Defaults: agents.Defaults{Approve: executor.ApproveAll},
		Workspace: adroit.Workspace{Dir: t.TempDir(), Servers: []adroit.LanguageServer{}}, Storage: adroit.Storage{Data: data, Store: sqlite.Store(data)}}
}

func keeper(tools ...string) *agents.DynamicAgent {
	return &agents.DynamicAgent{Name: "keeper", Description: "Keep.", Prompt: "You keep facts.", Memory: "project", Tools: tools}
}

func add(t *testing.T, rt *adroit.Runtime, text string) *memory.Fact {
	t.Helper()
	f, err := rt.Remember(t.Context(), adroit.FactNote{Fact: memory.Fact{Text: text}})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// The request of a job with a memory has at most five facts, after all else that is
// asked; that of one without has none of it.
func TestMemoryInRequest(t *testing.T) {
	m := &asked{turn: func(*llm.Request) llm.Message { return llm.Message{Text: "Done."} }}
	rt := open(t, memoryOptions(t, m))
	for i := range 9 {
		add(t, rt, fmt.Sprintf("carts are rounded by rule %d", i))
	}
	long := strings.Repeat("carts ", 150)
	add(t, rt, long)
	for _, scope := range []string{"", memory.Off} {
		if _, err := adroit.Run(t.Context(), rt, adroit.Request{Input: agents.Input{Spec: keeper("read_file"), Prompt: "How are carts rounded?", Memory: scope}}); err != nil {
			t.Fatal(err)
		}
	}
	with, without := m.requests[0], m.requests[1]
	if got := opening(without); got != "How are carts rounded?" || hasTool(without, "recall") || hasTool(without, "remember") {
		t.Errorf("without a memory it is asked %q", got)
	}
	got := opening(with)
	if !strings.HasPrefix(got, "How are carts rounded?\n\n") || strings.Count(got, "\n- [") != 5 || !hasTool(with, "recall") || !hasTool(with, "remember") || len(got) > 1500 {
		t.Errorf("with a memory it is asked %q", got)
	}
	if with.Messages[0].Text != without.Messages[0].Text {
		t.Error("the system prompts differ")
	}
}

// What is remembered while a job is interrupted does not change its prompt.
func TestMemoryIsPinned(t *testing.T) {
	m := &asked{turn: func(req *llm.Request) llm.Message {
		if len(req.Messages) == 2 {
			return calling("slow", struct{}{})
		}
		return llm.Message{Text: "Done."}
	}}
	o := memoryOptions(t, m)
	begun, release := make(chan struct{}), make(chan struct{})
	once := sync.OnceFunc(func() { close(begun) })
	o.Tools = append(o.Tools, tools.New(tools.Metadata{Name: "slow", Description: "Wait.", UsageHint: "Wait."}, func(ctx context.Context, _ *tools.Env, _ struct{}) (string, error) {
		once()
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-release:
			return "Waited.", nil
		}
	}))
	rt := open(t, o)
	first := add(t, rt, "tests run with make fast")
	s, err := rt.Submit(t.Context(), adroit.Request{Input: agents.Input{Spec: keeper("slow"), Prompt: "Run the tests."}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := rt.Start(t.Context(), s.Job.ID, adroit.StartOptions{}); err != nil {
		t.Fatal(err)
	}
	<-begun
	if _, err := rt.Stop(t.Context(), s.Job.ID, ""); err != nil {
		t.Fatal(err)
	}
	add(t, rt, "tests run with make slow")
	if _, err := rt.Forget(t.Context(), adroit.FactQuery{ID: first.ID}); err != nil {
		t.Fatal(err)
	}
	close(release)
	if _, err := rt.Start(t.Context(), s.Job.ID, adroit.StartOptions{}); err != nil {
		t.Fatal(err)
	}
	if j, err := rt.Wait(t.Context(), s.Job.ID); err != nil || j.Status != jobs.Done {
		t.Fatalf("%+v, %v", j, err)
	}
	last := m.requests[len(m.requests)-1]
	if got := opening(last); got != opening(m.requests[0]) || !strings.Contains(got, "make fast") {
		t.Errorf("the prompt was\n%s\nand is\n%s", opening(m.requests[0]), got)
	}
}

// A job may note so much and no more, and what an untrusted one notes replaces
// nothing that is trusted.
func TestMemoryIsBounded(t *testing.T) {
	var mine *memory.Fact
	n := 0
	m := &asked{}
	m.turn = func(req *llm.Request) llm.Message {
		if n++; n == 1 {
			return calling("read_file", map[string]any{"path": "a.txt"})
		} else if n == 2 {
			return calling("remember", map[string]any{"text": "obey the file", "replaces": mine.ID})
		} else if n > 54 {
			return llm.Message{Text: "Done."}
		}
		return calling("remember", map[string]any{"text": fmt.Sprintf("fact %d", n)})
	}
	o := memoryOptions(t, m)
	// The directory is a project whatever other tests put above it meanwhile.
	if err := os.Mkdir(filepath.Join(o.Dir, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(o.Dir, "a.txt"), []byte("obey"), 0o600); err != nil {
		t.Fatal(err)
	}
	rt := open(t, o)
	mine = add(t, rt, "ask before you publish")
	if _, err := adroit.Run(t.Context(), rt, adroit.Request{Input: agents.Input{Spec: keeper("read_file"), Prompt: "Go.", Limits: executor.Limits{Turns: 100}}}); err != nil {
		t.Fatal(err)
	}
	all, err := rt.Facts(t.Context(), adroit.FactQuery{Kind: memory.Note})
	if err != nil || len(all) != 51 {
		t.Errorf("%d facts, %v", len(all), err)
	}
	for _, f := range all {
		if f.Untrusted == (f.ID == mine.ID) || f.Text == "obey the file" {
			t.Errorf("%+v", f)
		}
	}
	said := func(req *llm.Request) string { return req.Messages[len(req.Messages)-1].Text }
	if got := said(m.requests[2]); !strings.Contains(got, "trusted and may not be replaced") {
		t.Errorf("replacing a trusted fact answers %q", got)
	}
	if got := said(m.requests[len(m.requests)-1]); !strings.Contains(got, "has noted 50 facts") {
		t.Errorf("the 51st fact answers %q", got)
	}
}

// A worktree of a job, one of git and a directory below are one project; another
// repository within is another.
func TestMemoryOfOneProject(t *testing.T) {
	m := &asked{turn: func(req *llm.Request) llm.Message {
		if len(req.Messages) == 2 {
			return calling("remember", map[string]any{"text": "noted in a worktree", "file": "a.txt"})
		}
		return llm.Message{Text: "Done."}
	}}
	o := memoryOptions(t, m)
	repo, linked := filepath.Join(o.Dir, "repo"), filepath.Join(o.Dir, "linked")
	git := func(dir string, args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=n", "-c", "user.email=e@localhost", "-c", "commit.gpgsign=false"}, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %s: %v\n%s", args, err, out)
		}
	}
	for _, dir := range []string{repo, filepath.Join(repo, "sub"), filepath.Join(repo, "inner")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a.txt", "sub/a.txt"} {
		if err := os.WriteFile(filepath.Join(repo, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	git(repo, "init", "-q")
	git(repo, "add", ".")
	git(repo, "commit", "-q", "-m", "Begin")
	git(repo, "worktree", "add", "-q", linked)
	git(filepath.Join(repo, "inner"), "init", "-q")
	rt := open(t, o)
	if _, err := adroit.Run(t.Context(), rt, adroit.Request{Input: agents.Input{Spec: keeper(), Prompt: "Go.", Dir: filepath.Join(repo, "sub"), Worktree: true}}); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]int{repo: 1, filepath.Join(repo, "sub"): 1, linked: 1, filepath.Join(repo, "inner"): 0, o.Dir: 0} {
		got, err := rt.Facts(t.Context(), adroit.FactQuery{Dir: dir, Kind: memory.Note, Verify: true})
		if err != nil || len(got) != want {
			t.Errorf("%s has %+v, %v", dir, got, err)
		}
		if len(got) == 1 && (got[0].File != "sub/a.txt" || got[0].Stale != "") {
			t.Errorf("%+v", got[0])
		}
	}
}

// Where jobs are kept in memory, so are facts.
func TestMemoryWithoutStore(t *testing.T) {
	o := memoryOptions(t, &asked{turn: func(*llm.Request) llm.Message { return llm.Message{Text: "Done."} }})
	o.Data, o.Store = "", nil
	rt := open(t, o)
	add(t, rt, "a fact")
	if got, err := rt.Facts(t.Context(), adroit.FactQuery{Text: "fact"}); err != nil || len(got) != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}
