package adroit

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/models/script"
	"github.com/adroit-run/adroit/pkg/tools"
)

// asking is a request to an agent with one tool.
func asking(tool string) Request {
	return Request{Input: agents.Input{Prompt: "x", Spec: &agents.DynamicAgent{Name: "a", Description: "d", Prompt: "p", Tools: []string{tool}}}}
}

var (
	writeFile = tools.New(tools.Metadata{Name: "write_file", Description: "Write a file.", Needs: tools.Read | tools.Write, Paths: []string{"path"}},
		func(ctx context.Context, env *tools.Env, in struct {
			Path    string `json:"path"`
			Content string `json:"content"`
		}) (string, error) {
			return "Written.", env.Files.WriteFile(in.Path, []byte(in.Content))
		})
	readFile = tools.New(tools.Metadata{Name: "read_file", Description: "Read a file.", Needs: tools.Read, Paths: []string{"path"}},
		func(ctx context.Context, env *tools.Env, in struct {
			Path string `json:"path"`
		}) (string, error) {
			b, err := env.Files.ReadFile(in.Path)
			return string(b), err
		})
)

// blocking is a tool that waits for the end of its context, and a channel that
// is closed when it has been called.
func blocking() (tools.Tool, chan struct{}) {
	began := make(chan struct{})
	return tools.New(tools.Metadata{Name: "slow", Description: "Wait."}, func(ctx context.Context, _ *tools.Env, _ struct{}) (string, error) {
		close(began)
		<-ctx.Done()
		return "", ctx.Err()
	}), began
}

// Run returns when the end of its context has interrupted a tool, with the job
// to resume.
func TestRunEndsWithItsContext(t *testing.T) {
	slow, began := blocking()
	rt := runtime(t, "turns:\n  - calls: [{name: slow}]\n  - text: Done.", Options{Tools: []tools.Tool{slow}})
	ctx, stop := context.WithCancel(t.Context())
	go func() { <-began; stop() }()
	_, err := Run(ctx, rt, asking("slow"))
	var se *StatusError
	if !errors.As(err, &se) || se.Job.Status != jobs.Interrupted || se.Job.ID == "" {
		t.Fatalf("Run: %v", err)
	}
}

// A tool that fails is the model's to deal with; the job goes on.
func TestRunWithAToolThatFails(t *testing.T) {
	bad := tools.New(tools.Metadata{Name: "bad", Description: "Fail."}, func(context.Context, *tools.Env, struct{}) (string, error) {
		return "", errors.New("out of paper")
	})
	rt := runtime(t, "turns:\n  - calls: [{name: bad}]\n  - {expect: {tool: bad, contains: out of paper}, text: It is out of paper.}", Options{Tools: []tools.Tool{bad}})
	s, err := Run(t.Context(), rt, asking("bad"))
	if err != nil {
		t.Fatal(err)
	}
	if s.Last != "It is out of paper." {
		t.Errorf("the answer is %q", s.Last)
	}
}

// A question that nobody answers ends Run, not the job: it goes on with an
// answer, and by its key.
func TestRunWithAQuestion(t *testing.T) {
	rt := runtime(t, "turns:\n  - calls: [{name: write_file, args: {path: a.txt, content: hello}}]\n  - text: Written.", Options{Tools: []tools.Tool{writeFile}})
	r := asking("write_file")
	r.Approve, r.Key = executor.ApproveAsk, "once"
	_, err := Run(t.Context(), rt, r)
	var se *StatusError
	if !errors.As(err, &se) || se.Job.Status != jobs.Waiting {
		t.Fatalf("Run: %v", err)
	}
	if _, err := rt.Signal(t.Context(), se.Job.ID, Signal{Name: "approve"}); err != nil {
		t.Fatal(err)
	}
	for _, run := range []string{"that goes on", "of a job that has ended"} {
		s, err := Run(t.Context(), rt, r)
		if err != nil {
			t.Fatalf("a Run %s: %v", run, err)
		}
		if s.Last != "Written." {
			t.Errorf("a Run %s answers %q", run, s.Last)
		}
	}
	if all, err := rt.Jobs(t.Context(), ListOptions{}); err != nil || len(all) != 1 {
		t.Errorf("%d jobs, %v", len(all), err)
	}
}

// inTemp makes a directory that is empty, and that temporary files go to.
func inTemp(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	t.Chdir(t.TempDir())
	return dir
}

// empty fails the test if Ask has left something in a directory.
func empty(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range left {
		t.Errorf("%s is left in %s", e.Name(), dir)
	}
}

func parse(t *testing.T, turns string) llm.Model {
	t.Helper()
	m, err := script.Parse("turns", []byte(turns))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Ask answers with the help of a tool that needs no workspace; none is opened,
// and nothing is left.
func TestAsk(t *testing.T) {
	temp := inTemp(t)
	opened := true
	double := tools.New(tools.Metadata{Name: "double", Description: "Double a number."}, func(_ context.Context, env *tools.Env, in struct{ N int }) (int, error) {
		opened = env.Files != nil
		ledgers, err := filepath.Glob(filepath.Join(temp, "*", "jobs", "*", "ledger"))
		opened = opened || len(ledgers) > 0
		return 2 * in.N, err
	})
	got, err := Ask(t.Context(), parse(t, "turns:\n  - calls: [{name: double, args: {N: 21}}]\n  - {expect: {last: '42'}, text: It is 42.}"), "Twice 21?", double)
	if err != nil {
		t.Fatal(err)
	}
	if got != "It is 42." {
		t.Errorf("the answer is %q", got)
	}
	if opened {
		t.Error("a workspace was opened for a tool that needs none")
	}
	empty(t, temp)
}

// A tool that reads has the current directory for a workspace.
func TestAskReads(t *testing.T) {
	temp := inTemp(t)
	if err := os.WriteFile("a.txt", []byte("hello there"), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := Ask(t.Context(), parse(t, "turns:\n  - calls: [{name: read_file, args: {path: a.txt}}]\n  - {expect: {contains: hello there}, text: A greeting.}"), "What is in a.txt?", readFile)
	if err != nil || got != "A greeting." {
		t.Errorf("Ask: %q, %v", got, err)
	}
	empty(t, temp)
}

// A call that a person would have to approve is refused; the model reads why.
func TestAskRefusesWhatNeedsAPerson(t *testing.T) {
	inTemp(t)
	send := tools.New(tools.Metadata{Name: "send", Description: "Send a mail.", Needs: tools.Publish}, func(context.Context, *tools.Env, struct{}) (string, error) {
		t.Error("the tool was called")
		return "", nil
	})
	got, err := Ask(t.Context(), parse(t, "turns:\n  - calls: [{name: send}]\n  - {expect: {tool: send}, text: I may not.}"), "Send it.", send)
	if err != nil || got != "I may not." {
		t.Errorf("Ask: %q, %v", got, err)
	}
}

// The end of the context ends Ask in the middle of a call; a failure of the
// model is its error. Nothing is left of either.
func TestAskThatFails(t *testing.T) {
	temp := inTemp(t)
	slow, began := blocking()
	ctx, stop := context.WithCancel(t.Context())
	go func() { <-began; stop() }()
	if _, err := Ask(ctx, parse(t, "turns: [{calls: [{name: slow}]}]"), "x", slow); !errors.As(err, new(*StatusError)) {
		t.Errorf("a context that ended: %v", err)
	}
	broken := llm.Func(func(context.Context, *llm.Request, func(llm.Delta)) (*llm.Response, error) {
		return nil, &llm.Error{Kind: llm.Auth, Message: "bad key"}
	})
	if _, err := Ask(t.Context(), broken, "x"); err == nil || !strings.Contains(err.Error(), "bad key") {
		t.Errorf("a model that fails: %v", err)
	}
	if _, err := Ask(t.Context(), nil, "x"); err == nil {
		t.Error("Ask without a model did not fail")
	}
	empty(t, temp)
}

// A named model is asked for its name, and an Ask for no other.
func TestAskNamed(t *testing.T) {
	echo := llm.Func(func(_ context.Context, r *llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
		return &llm.Response{Message: llm.Message{Role: llm.Assistant, Text: r.Model}, Stop: llm.StopEnd}, nil
	})
	if got, err := Ask(t.Context(), llm.Named(echo, "qwen3:8b"), "Who are you?"); err != nil || got != "qwen3:8b" {
		t.Errorf("Ask: %q, %v", got, err)
	}
}
