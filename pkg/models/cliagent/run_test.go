package cliagent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/calling/extagent"
	"github.com/adroit-run/adroit/pkg/llm"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if kind, ok := strings.CutPrefix(os.Args[1], "fake:"); ok {
			os.Exit(fake(kind, os.Args[2:]))
		}
	}
	os.Exit(m.Run())
}

// fake is a program that misbehaves, in codex's stream.
func fake(kind string, args []string) int {
	say := func(format string, a ...any) { fmt.Printf(format+"\n", a...) }
	begin := func() { say(`{"type":"thread.started","thread_id":"t-1"}`) }
	text := func(s string) {
		say(`{"type":"item.completed","item":{"id":"x","type":"agent_message","text":%s}}`, quoted(s))
	}
	ran := func(id int, command string) {
		say(`{"type":"item.completed","item":{"id":"%d","type":"command_execution","command":%s,"exit_code":0,"status":"completed"}}`, id, quoted(command))
	}
	end := func() {
		say(`{"type":"turn.completed","usage":{"input_tokens":10,"cached_input_tokens":4,"output_tokens":2}}`)
	}
	forever := func() { time.Sleep(time.Hour) } // select {} would be a deadlock to a program without cgo
	switch kind {
	case "acp", "acp-loads":
		return serveACP(kind == "acp-loads")
	case "mine":
		return fakeMine(args)
	case "silent":
	case "hang":
		begin()
		forever()
	case "busy":
		// Alive and without an end: only the wall clock stops it.
		begin()
		for i := 0; ; i++ {
			say(`{"type":"item.completed","item":{"id":"r%d","type":"reasoning","text":"hm"}}`, i)
			time.Sleep(5 * time.Millisecond)
		}
	case "repeats":
		begin()
		for i := 0; ; i++ {
			ran(i, "echo same")
		}
	case "turns":
		begin()
		for i := 0; ; i++ {
			ran(i, fmt.Sprintf("echo %d", i))
		}
	case "floods":
		begin()
		line := bytes.Repeat([]byte("x"), 1<<20)
		for {
			if _, err := os.Stdout.Write(line); err != nil {
				return 1
			}
		}
	case "late":
		begin()
		text("done")
		end()
		forever()
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		begin()
		forever()
	case "grandchild":
		// A child and its child, which do not die of anything but KILL.
		sh := exec.Command("/bin/sh", "-c", `trap '' TERM; sleep 600 & echo $! $$ > pids; wait`)
		if err := sh.Start(); err != nil {
			return 1
		}
		for {
			if b, err := os.ReadFile("pids"); err == nil && bytes.HasSuffix(b, []byte("\n")) {
				break
			}
			time.Sleep(time.Millisecond)
		}
		begin()
		if slices.Contains(args, "end") {
			text("done")
			end()
			return 0
		}
		forever()
	case "midline":
		begin()
		fmt.Print(`{"type":"turn.comp`)
		return 1
	case "session":
		if slices.Contains(args, "resume") {
			fmt.Fprintln(os.Stderr, "Error: thread/resume failed: no rollout found for thread id")
			return 1
		}
		begin()
		text(args[len(args)-1])
		end()
	case "echo":
		begin()
		in, err := io.ReadAll(os.Stdin)
		if err != nil {
			return 1
		}
		env := os.Environ()
		slices.Sort(env)
		text(strings.Join(args, "\x1f") + "\x1e" + string(in) + "\x1e" + strings.Join(env, "\x1f"))
		end()
	case "refused":
		begin()
		if slices.Contains(args, "acts") {
			ran(1, "echo x")
		}
		say(`{"type":"turn.failed","error":{"message":"unexpected status 429 Too Many Requests"}}`)
		return 1
	}
	return 0
}

// program is the agent of a fake.
func program(t *testing.T, kind string, more ...string) *Agent {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(Config{Name: "fake", Format: "codex", Command: append([]string{exe, "fake:" + kind}, more...), Grace: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

var hi = &llm.Request{Messages: []llm.Message{{Role: llm.System, Text: "You are a test."}, {Role: llm.User, Text: "hi"}}}

func TestGuards(t *testing.T) {
	for name, c := range map[string]struct {
		kind   string
		bounds extagent.Limits
		stream int64
		err    llm.ErrorKind
		stop   string
		text   string
	}{
		"ends with code 0 and without a word": {kind: "silent", err: extagent.NoResult},
		"hangs":                               {kind: "hang", bounds: extagent.Limits{Idle: 200 * time.Millisecond}, err: llm.Timeout},
		"does not die of TERM":                {kind: "stubborn", bounds: extagent.Limits{Idle: 200 * time.Millisecond}, err: llm.Timeout},
		"goes on for ever":                    {kind: "busy", bounds: extagent.Limits{Wall: 3 * time.Second}, stop: "time"},
		"makes the same call over and over":   {kind: "repeats", stop: "same"},
		"makes call after call":               {kind: "turns", bounds: extagent.Limits{Turns: 30}, stop: "turns"},
		"floods":                              {kind: "floods", stream: 40 << 20, err: llm.Garbled},
		"hangs after its end":                 {kind: "late", text: "done"},
		"dies in the middle of a line":        {kind: "midline", err: extagent.NoResult},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := program(t, c.kind)
			a.stream = c.stream
			resp, err := a.Open(extagent.Session{Dir: t.TempDir(), Limits: c.bounds}).Generate(t.Context(), hi, nil)
			var le *llm.Error
			switch {
			case c.err != "":
				if !errors.As(err, &le) || le.Kind != c.err {
					t.Fatalf("error %v, want %s", err, c.err)
				}
			case err != nil:
				t.Fatal(err)
			case resp.Work.Stopped != c.stop || (resp.Stop == extagent.StopLimit) != (c.stop != ""):
				t.Errorf("stopped by %q (%s), want %q", resp.Work.Stopped, resp.Stop, c.stop)
			case c.text != "" && resp.Message.Text != c.text:
				t.Errorf("text %q, want %q", resp.Message.Text, c.text)
			}
			if c.stop == "turns" && resp.Work.Turns > 31 {
				t.Errorf("%d turns were counted", resp.Work.Turns)
			}
		})
	}
}

// It may be silent for as long as a tool of its runs, or a question of its is
// being answered.
func TestSilence(t *testing.T) {
	s := &run{emit: func(llm.Delta) {}}
	w := &watch{run: s, seen: time.Now().Add(-time.Hour)}
	quiet := func() bool { _, _, d := w.state(); return d >= time.Hour }
	if !quiet() {
		t.Error("an hour without a word is no silence")
	}
	s.start("1", "shell", "make")
	if quiet() {
		t.Error("a tool is at work, and that is silence")
	}
	s.finish("1", "shell", extagent.StatusOK, nil, "")
	if !quiet() {
		t.Error("the tool is done, and there is no silence")
	}
	if w.waiting++; quiet() {
		t.Error("it waits for an answer, and that is silence")
	}
}

// Whatever ends the program, nothing of what it started is alive afterwards.
func TestGroup(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		idle time.Duration
		stop bool
	}{
		"silence": {idle: 3 * time.Second},
		"cancel":  {stop: true},
		"its end": {args: []string{"end"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var once sync.Once
			emit := func(d llm.Delta) {
				if c.stop && d.Activity != nil && d.Activity.Kind == extagent.SessionOpened {
					once.Do(cancel)
				}
			}
			_, err := program(t, "grandchild", c.args...).Open(extagent.Session{Dir: dir, Limits: extagent.Limits{Idle: c.idle}}).Generate(ctx, hi, emit)
			if c.stop && !errors.Is(err, context.Canceled) {
				t.Errorf("error %v, want that of the context", err)
			}
			if (err == nil) != (c.args != nil) {
				t.Errorf("error %v", err)
			}
			b, err := os.ReadFile(filepath.Join(dir, "pids"))
			if err != nil {
				t.Fatal(err)
			}
			for _, pid := range strings.Fields(string(b)) {
				n, err := strconv.Atoi(pid)
				if err != nil {
					t.Fatal(err)
				}
				// It was killed before Generate returned; the kernel takes its time.
				for deadline := time.Now().Add(5 * time.Minute); alive(n) && time.Now().Before(deadline); {
					runtime.Gosched()
				}
				if alive(n) {
					t.Errorf("process %d is alive", n)
				}
			}
		})
	}
}

// alive reports whether a process runs; one that is dead and not yet reaped does
// not.
func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return syscall.Kill(pid, 0) == nil
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

// What was not begun may be tried again; what was is not.
func TestActed(t *testing.T) {
	for _, acts := range []bool{false, true} {
		a := program(t, "refused")
		if acts {
			a = program(t, "refused", "acts")
		}
		_, err := a.Open(extagent.Session{Dir: t.TempDir()}).Generate(t.Context(), hi, nil)
		var le *llm.Error
		switch {
		case !errors.As(err, &le):
			t.Errorf("errors.As(err, &le) is false: acted %v: %v, %+v", acts, err, le)
		case le.Kind != llm.RateLimit:
			t.Errorf("le.Kind is %v, want %v: acted %v: %v, %+v", le.Kind, llm.RateLimit, acts, err, le)
		case le.Status != 429:
			t.Errorf("le.Status is %v, want 429: acted %v: %v, %+v", le.Status, acts, err, le)
		case le.Acted != acts:
			t.Errorf("le.Acted is %v, want %v: acted %v: %v, %+v", le.Acted, acts, acts, err, le)
		case le.Retryable() == acts:
			t.Errorf("le.Retryable() is acts: acted %v: %v, %+v", acts, err, le)
		}
	}
}

func echoed(t *testing.T, a *Agent, p extagent.Session, req *llm.Request) (args []string, stdin string, env []string, resp *llm.Response) {
	t.Helper()
	p.Dir = t.TempDir()
	resp, err := a.Open(p).Generate(t.Context(), req, nil)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(resp.Message.Text, "\x1e")
	return strings.Split(parts[0], "\x1f"), parts[1], strings.Split(parts[2], "\x1f"), resp
}

// The next turn goes on in the session, with what is new alone.
func TestSession(t *testing.T) {
	a := program(t, "echo")
	args, _, _, first := echoed(t, a, extagent.Session{}, hi)
	if args[len(args)-1] != "hi" || slices.Contains(args, "resume") || !strings.Contains(strings.Join(args, " "), "You are a test.") {
		t.Errorf("first %q", args)
	}
	if first.Work.Session != "t-1" || first.Usage != (llm.Usage{In: 10, Out: 2, Cached: 4}) {
		t.Errorf("work %+v, usage %+v", first.Work, first.Usage)
	}
	msgs := append(slices.Clone(hi.Messages), first.Message, llm.Message{Role: llm.User, Text: "not done yet"})
	args, _, _, second := echoed(t, a, extagent.Session{}, &llm.Request{Messages: msgs})
	switch {
	case args[1] != "resume":
		t.Errorf(`args[1] is %v, want "resume": second %q`, args[1], args)
	case args[len(args)-2] != "t-1":
		t.Errorf(`args[len(args)-2] is %v, want "t-1": second %q`, args[len(args)-2], args)
	case args[len(args)-1] != "not done yet":
		t.Errorf(`args[len(args)-1] is %v, want "not done yet": second %q`, args[len(args)-1], args)
	case strings.Contains(strings.Join(args, " "), "You are a test."):
		t.Errorf(`strings.Join(args, " ") contains "You are a test.": second %q`, args)
	}
	if second.Usage != (llm.Usage{}) {
		t.Errorf("the session counts the same in all, but the second run has %+v", second.Usage)
	}

	lost := program(t, "session")
	var warnings []string
	resp, err := lost.Open(extagent.Session{Dir: t.TempDir()}).Generate(t.Context(), &llm.Request{Messages: msgs}, func(d llm.Delta) {
		if d.Activity != nil && d.Activity.Kind == extagent.Warned {
			warnings = append(warnings, d.Activity.Text)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case !strings.Contains(resp.Message.Text, "hi"):
		t.Errorf(`resp.Message.Text lacks "hi": begun anew with %q, warnings %q`, resp.Message.Text, warnings)
	case !strings.Contains(resp.Message.Text, "not done yet"):
		t.Errorf(`resp.Message.Text lacks "not done yet": begun anew with %q, warnings %q`, resp.Message.Text, warnings)
	case len(warnings) != 1:
		t.Errorf("len(warnings) is %v, want 1: begun anew with %q, warnings %q", len(warnings), resp.Message.Text, warnings)
	case len(resp.Notes) != 1:
		t.Errorf("len(resp.Notes) is %v, want 1: begun anew with %q, warnings %q", len(resp.Notes), resp.Message.Text, warnings)
	}
}

// Another model has answered since: its messages are sent, and the session is
// not resumed.
func TestHandedOver(t *testing.T) {
	a := program(t, "echo")
	msgs := append(slices.Clone(hi.Messages),
		llm.Message{Role: llm.Assistant, Calls: []llm.Call{{ID: "1", Name: "read_file", Args: []byte(`{"path":"a"}`)}}},
		llm.Message{Role: llm.Tool, CallID: "1", Name: "read_file", Text: "the file"},
		llm.Message{Role: llm.User, Text: "go on"})
	args, _, _, _ := echoed(t, a, extagent.Session{}, &llm.Request{Messages: msgs})
	prompt := args[len(args)-1]
	for _, want := range []string{"hi", "[called read_file", "the file", "[user]\ngo on"} {
		if !strings.Contains(prompt, want) {
			t.Errorf("the prompt lacks %q:\n%s", want, prompt)
		}
	}
}

// A program gets what it needs of our environment and nothing else.
func TestEnvironment(t *testing.T) {
	t.Setenv("ADROIT_TEST_SECRET", "s3cret")
	t.Setenv("ADROIT_TEST_KEY", "key")
	t.Setenv("OPENAI_API_KEY", "openai")
	t.Setenv("ANTHROPIC_API_KEY", "anthropic")
	a := program(t, "echo")
	a.Env = []string{"ADROIT_TEST_KEY"}
	_, stdin, env, _ := echoed(t, a, extagent.Session{}, hi)
	if stdin != "" {
		t.Errorf("there was %q on the standard input", stdin)
	}
	for _, want := range []string{"ADROIT_TEST_KEY=key", "OPENAI_API_KEY=openai"} {
		if !slices.Contains(env, want) {
			t.Errorf("%s is missing", want)
		}
	}
	for _, kv := range env {
		if strings.HasPrefix(kv, "ADROIT_TEST_SECRET") || strings.HasPrefix(kv, "ANTHROPIC") {
			t.Errorf("it was given %s", kv)
		}
	}
}

// A prompt longer than an argument may be goes through the standard input, and
// one that begins like a flag is none.
func TestPrompts(t *testing.T) {
	a := program(t, "echo")
	long := strings.Repeat("word ", 50_000)
	args, stdin, _, _ := echoed(t, a, extagent.Session{}, &llm.Request{Messages: []llm.Message{{Role: llm.User, Text: long}}})
	if args[len(args)-1] != "-" || stdin != strings.TrimSpace(long) {
		t.Errorf("args end with %q, %d bytes on the standard input", args[len(args)-1], len(stdin))
	}
	args, _, _, _ = echoed(t, a, extagent.Session{}, &llm.Request{Messages: []llm.Message{{Role: llm.User, Text: "--help"}}})
	if args[len(args)-1] != " --help" {
		t.Errorf("args end with %q", args[len(args)-1])
	}
}

// Commands that must be confined are codex's alone: it confines them.
func TestHeld(t *testing.T) {
	for format, want := range map[string]string{"codex": "run commands", "jsonl": "read, write."} {
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		a, err := New(Config{Name: "fake", Format: format, Command: []string{exe, "fake:echo"}, Grace: 100 * time.Millisecond,
			Fields: map[string]string{"text": "item.text"}, Types: map[string]string{"item.completed": "message", "turn.completed": "done"}})
		if format == "codex" {
			a, err = New(Config{Name: "fake", Format: format, Command: []string{exe, "fake:echo"}, Grace: 100 * time.Millisecond})
		}
		if err != nil {
			t.Fatal(err)
		}
		args, _, _, _ := echoed(t, a, extagent.Session{Access: extagent.Access{Write: true, Run: true, SandboxedOnly: true}}, hi)
		if words := strings.Join(args, " "); !strings.Contains(words, want) {
			t.Errorf("%s gets the arguments %q", format, words)
		}
	}
}

// TestRights checks the arguments that give each program its access.
func TestRights(t *testing.T) {
	all := extagent.Access{Write: true, Run: true, Net: true}
	for _, c := range []struct {
		form     format
		may      extagent.Access
		has, not []string
	}{
		{codex{}, extagent.Access{}, []string{`sandbox_mode="read-only"`, `web_search="disabled"`}, []string{"workspace-write"}},
		{codex{}, extagent.Access{Write: true}, []string{`sandbox_mode="workspace-write"`, "sandbox_workspace_write.network_access=false"}, []string{"danger"}},
		{codex{}, all, []string{`sandbox_mode="workspace-write"`, "sandbox_workspace_write.network_access=true"}, []string{"danger", "web_search"}},
		{claude{}, extagent.Access{}, []string{"--tools Read,Glob,Grep,TodoWrite ", "--permission-mode default"}, []string{"Edit", "Bash", "Web", "bypass"}},
		{claude{}, extagent.Access{Write: true}, []string{"Edit,Write", "--permission-mode acceptEdits"}, []string{"Bash", "bypass"}},
		{claude{}, all, []string{"Edit,Write", "Bash", "WebFetch"}, []string{"bypass"}},
		{gemini{}, extagent.Access{}, []string{"--approval-mode default"}, []string{"yolo", "auto_edit"}},
		{gemini{}, extagent.Access{Write: true}, []string{"--approval-mode auto_edit"}, []string{"yolo"}},
		{gemini{}, all, []string{"--approval-mode yolo"}, nil},
		{opencode{}, extagent.Access{}, []string{`"edit":"deny"`, `"bash":"deny"`, `"webfetch":"deny"`, `"external_directory":"deny"`}, []string{"allow", "--auto"}},
		{opencode{}, extagent.Access{Write: true}, []string{`"edit":"allow"`, `"bash":"deny"`}, nil},
		{opencode{}, all, []string{`"edit":"allow"`, `"bash":"allow"`, `"webfetch":"allow"`}, []string{"--auto"}},
	} {
		inv, err := c.form.command(invocation{Prompt: "p", Scratch: t.TempDir(), Access: c.may, Limits: extagent.Limits{Turns: 7}, Getenv: func(string) string { return "" }})
		if err != nil {
			t.Fatal(err)
		}
		words := strings.Join(append(inv.args, inv.env...), " ")
		for _, w := range c.has {
			if !strings.Contains(words, w) {
				t.Errorf("%T %+v lacks %s:\n%s", c.form, c.may, w, words)
			}
		}
		for _, w := range c.not {
			if strings.Contains(words, w) {
				t.Errorf("%T %+v has %s:\n%s", c.form, c.may, w, words)
			}
		}
	}
}
