package cliagent

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/calling/extagent"
	"github.com/adroit-run/adroit/pkg/llm"
)

// A program that the configuration describes, with words of its own.
func TestDescribed(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	a, err := New(Config{
		Name: "mine", Format: "jsonl", Command: []string{exe, "fake:mine"},
		Args: Args{Read: []string{"--ro"}, Write: []string{"--rw"}, Model: []string{"--model={model}"}, Session: []string{"--resume", "{session}"},
			System: []string{"--sys", "{system}"}, Prompt: []string{"--ask", "{prompt}"}},
		Fields: map[string]string{"type": "event.name", "text": "event.words", "session": "thread", "in": "cost.tokens.in", "out": "cost.tokens.out", "cost": "cost.usd", "args": "event.with", "name": "event.tool"},
		Types:  map[string]string{"say": "message", "call": "tool.started", "called": "tool.finished", "bye": "done", "oops": "failed"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var did []string
	req := &llm.Request{Model: "m1", Messages: hi.Messages}
	resp, err := a.Open(extagent.Session{Dir: t.TempDir(), Access: extagent.Access{Write: true}}).Generate(t.Context(), req, func(d llm.Delta) {
		if d.Activity != nil {
			did = append(did, d.Activity.Kind+" "+extagent.Text(*d.Activity))
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(resp.Message.Text, "--rw --model=m1 --sys You are a test.") || !strings.HasSuffix(resp.Message.Text, "--ask hi") {
		t.Errorf("it was run with %q", resp.Message.Text)
	}
	switch {
	case resp.Usage != (llm.Usage{In: 12, Out: 3}):
		t.Errorf("resp.Usage is not (llm.Usage{In: 12, Out: 3}): %+v, %+v", resp.Usage, resp.Work)
	case resp.Work.CostUSD != 0.25:
		t.Errorf("resp.Work.CostUSD is %v, want 0.25: %+v, %+v", resp.Work.CostUSD, resp.Usage, resp.Work)
	case resp.Work.Session != "th-9":
		t.Errorf(`resp.Work.Session is %v, want "th-9": %+v, %+v`, resp.Work.Session, resp.Usage, resp.Work)
	case resp.Work.Calls != 1:
		t.Errorf("resp.Work.Calls is %v, want 1: %+v, %+v", resp.Work.Calls, resp.Usage, resp.Work)
	}
	if !slices.Contains(did, "tool.finished build all (exit code 2)") {
		t.Errorf("it did %q", did)
	}
	msgs := append(slices.Clone(hi.Messages), resp.Message, llm.Message{Role: llm.User, Text: "fail now"})
	_, err = a.Open(extagent.Session{Dir: t.TempDir()}).Generate(t.Context(), &llm.Request{Messages: msgs}, nil)
	var le *llm.Error
	if !errors.As(err, &le) || le.Kind != llm.Overloaded || !strings.Contains(le.Message, "--ro --resume th-9 --ask fail now") {
		t.Errorf("%v", err)
	}
}

// fakeMine is the program of TestDescribed.
func fakeMine(args []string) int {
	words := strings.Join(args, " ")
	line := func(s string) { os.Stdout.WriteString(s + "\n") }
	line(`{"event":{"name":"hello"},"thread":"th-9"}`)
	if strings.Contains(words, "fail") {
		line(`{"event":{"name":"oops"},"error":` + quoted(words) + `,"http_status":503}`)
		return 1
	}
	line(`{"event":{"name":"call","tool":"build","with":"all"},"id":7}`)
	line(`{"event":{"name":"called"},"id":7,"exit_code":2}`)
	line(`{"event":{"name":"say","words":` + quoted(words) + `}}`)
	line(`{"event":{"name":"bye"},"cost":{"tokens":{"in":12,"out":3},"usd":0.25}}`)
	return 0
}

func TestDescribedBadly(t *testing.T) {
	for want, c := range map[string]Config{
		`there is no "txt"`:                {Fields: map[string]string{"txt": "x"}},
		`it is one of session, message`:    {Types: map[string]string{"x": "talk"}},
		`session says nowhere {session}`:   {Args: Args{Session: []string{"--resume"}}},
		`command is missing`:               {Command: []string{}},
		`there is no format "yaml"`:        {Format: "yaml"},
		`command begins with an empty wor`: {Command: []string{""}},
	} {
		c.Name = "mine"
		if c.Format == "" {
			c.Format = "jsonl"
		}
		if c.Command == nil {
			c.Command = []string{"x"}
		}
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
