package shell

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/tools/toolstest"
	"github.com/adroit-run/adroit/pkg/workspace"
)

func TestConforms(t *testing.T) { toolstest.Check(t, Run, Output, Kill, Rerun) }

func open(t *testing.T) *tools.Env {
	t.Helper()
	dir := t.TempDir()
	led, err := ledger.Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	files, err := workspace.Open(dir, led)
	if err != nil {
		t.Fatal(err)
	}
	ex := process.New(dir, t.TempDir(), led)
	t.Cleanup(func() { ex.Close(); files.Close(); led.Close() })
	return &tools.Env{Files: files, Exec: ex}
}

func call(t *testing.T, tool tools.Tool, env *tools.Env, in any) tools.Result {
	t.Helper()
	b, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	r, err := tool.Run(context.Background(), env, b)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRun(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-nobody-may-see-this")
	env := open(t)
	for _, c := range []struct {
		command, says string
		failed        bool
	}{
		{"echo hello", "exit code 0 (c1, 6 bytes of output)\nhello\n", false},
		{"echo out; echo err >&2; exit 3", "exit code 3", true},
		{"echo err >&2", "err", false},
		{"printf x > made.txt", "[changed: made.txt]", false},
		{"cat; echo end of input", "end of input", false},
		{"env", "TERM=dumb", false},
		{"kill -9 $$", "exit code 137", true},
		{"no-such-program", "exit code 127", true},
		{" ", "empty", true},
		{": " + strings.Repeat("x", 119_000), "exit code 0", false},
		{": " + strings.Repeat("x", 200_000), "write it to a file", true},
	} {
		r := call(t, Run, env, runInput{Command: c.command})
		if r.Failed != c.failed || !strings.Contains(r.Text, c.says) {
			t.Errorf("%.200s: Failed %v: %s", c.command, r.Failed, r.Text)
		}
		if strings.Contains(r.Text, "nobody-may-see") {
			t.Errorf("%s shows a key", c.command)
		}
	}
	if b, err := os.ReadFile(filepath.Join(env.Files.Dir(), "made.txt")); err != nil || string(b) != "x" {
		t.Errorf("made.txt: %q, %v", b, err)
	}
}

func TestTimeout(t *testing.T) {
	env := open(t)
	r := call(t, Run, env, runInput{Command: "echo begun; sleep 300", TimeoutS: 1})
	if !r.Failed || !strings.Contains(r.Text, "time limit") || !strings.Contains(r.Text, "begun") {
		t.Errorf("%+v", r)
	}
}

func TestCancelled(t *testing.T) {
	env := open(t)
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	_, err := Run.Run(ctx, env, json.RawMessage(`{"command":"sleep 300"}`))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}

// Long output is shown in part and can be paged and searched in full.
func TestLong(t *testing.T) {
	env := open(t)
	r := call(t, Run, env, runInput{Command: "seq 1 200000"})
	switch {
	case len(r.Text) > 14_000:
		t.Fatalf("len(r.Text) > 14_000: %d bytes: %.300s", len(r.Text), r.Text)
	case !strings.Contains(r.Text, "\n1\n2\n"):
		t.Fatalf(`r.Text lacks "\n1\n2\n": %d bytes: %.300s`, len(r.Text), r.Text)
	case !strings.Contains(r.Text, "\n200000\n"):
		t.Fatalf(`r.Text lacks "\n200000\n": %d bytes: %.300s`, len(r.Text), r.Text)
	case !strings.Contains(r.Text, "shell_output with id c1"):
		t.Fatalf(`r.Text lacks "shell_output with id c1": %d bytes: %.300s`, len(r.Text), r.Text)
	}
	for _, c := range []struct {
		in   outputInput
		want string
	}{
		{outputInput{ID: "c1", From: 100000, Lines: 2}, "100000\t100000\n100001\t100001\n[more follows: from=100002]\n"},
		{outputInput{ID: "c1", Pattern: "^12345.$", Lines: 2}, "123450\t123450\n123451\t123451\n[more lines match: make pattern narrower]\n"},
		{outputInput{ID: "c1", Pattern: "nope"}, "no line matches\n"},
	} {
		if r := call(t, Output, env, c.in); r.Failed || r.Text != c.want {
			t.Errorf("%+v: %q", c.in, r.Text)
		}
	}
	for _, in := range []outputInput{{ID: "c9", From: 1}, {ID: "../x", From: 1}, {ID: "c1", Pattern: "("}, {ID: "c9"}} {
		if r := call(t, Output, env, in); !r.Failed {
			t.Errorf("%+v: %q", in, r.Text)
		}
	}
}

func TestBackground(t *testing.T) {
	env := open(t)
	begin := time.Now()
	r := call(t, Run, env, runInput{Command: "echo up; sleep 300", Background: true})
	if r.Failed || !strings.Contains(r.Text, "c1") || time.Since(begin) > 4*time.Minute {
		t.Fatalf("%+v", r)
	}
	if r = call(t, Output, env, outputInput{ID: "c1", WaitS: 1}); r.Failed || !strings.Contains(r.Text, "still running") || !strings.Contains(r.Text, "up") {
		t.Errorf("while it runs: %+v", r)
	}
	if r = call(t, Kill, env, killInput{ID: "c1"}); r.Failed || !strings.Contains(r.Text, "killed") {
		t.Errorf("killing: %+v", r)
	}
	if r = call(t, Kill, env, killInput{ID: "c1"}); r.Failed || !strings.Contains(r.Text, "already") {
		t.Errorf("killing twice: %+v", r)
	}
	if r = call(t, Kill, env, killInput{ID: "c77"}); !r.Failed {
		t.Errorf("killing nothing: %+v", r)
	}
	call(t, Run, env, runInput{Command: "echo done; exit 4", Background: true})
	if r = call(t, Output, env, outputInput{ID: "c2", WaitS: 30}); r.Failed || !strings.Contains(r.Text, "exit code 4") || !strings.Contains(r.Text, "done") {
		t.Errorf("after its end: %+v", r)
	}
}
