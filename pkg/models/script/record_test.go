package script

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/adroit-run/adroit/pkg/guard/secret"
	"github.com/adroit-run/adroit/pkg/llm"
)

func talk(words ...string) *llm.Request {
	req := new(llm.Request)
	for i, w := range words {
		role := llm.User
		if i%2 == 1 {
			role = llm.Assistant
		}
		req.Messages = append(req.Messages, llm.Message{Role: role, Text: w})
	}
	return req
}

func answered(text string) *llm.Response {
	return &llm.Response{Message: llm.Message{Role: llm.Assistant, Text: text}, Stop: llm.StopEnd}
}

// TestTwoJobsOneFile has one of two jobs record, one after the other and at
// once: the other is refused, and the recording is whole.
func TestTwoJobsOneFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "made.json")
	first, err := Record(path, Recording{Job: "J1", Model: "m/x"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Record(path, Recording{Job: "J2", Model: "m/x"}, nil); err == nil || !strings.Contains(err.Error(), "is the recording of job J1; name another file") {
		t.Errorf("%v", err)
	}
	if err := first.Keep(talk("q"), answered("of J1")); err != nil {
		t.Fatal(err)
	}
	m, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := m.Generate(t.Context(), talk("q"), nil); err != nil || r.Message.Text != "of J1" {
		t.Errorf("%+v, %v", r, err)
	}

	for round := range 20 {
		path := filepath.Join(t.TempDir(), "made.json")
		var wg sync.WaitGroup
		var mu sync.Mutex
		var won []string
		for i := range 4 {
			wg.Go(func() {
				job := fmt.Sprintf("J%d", i)
				rec, err := Record(path, Recording{Job: job, Model: "m/x"}, nil)
				if err != nil {
					return
				}
				if err := rec.Keep(talk("q"), answered("of "+job)); err != nil {
					t.Errorf("round %d: %v", round, err)
				}
				mu.Lock()
				defer mu.Unlock()
				won = append(won, job)
			})
		}
		wg.Wait()
		m, err := Load(path)
		if err != nil || len(won) != 1 || m.Recording().Job != won[0] {
			t.Fatalf("round %d: %v have it; %v", round, won, err)
		}
		if r, err := m.Generate(t.Context(), talk("q"), nil); err != nil || r.Message.Text != "of "+won[0] {
			t.Errorf("round %d: %+v, %v", round, r, err)
		}
	}
}

// TestRecordedRefusal plays that a request was too long.
func TestRecordedRefusal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "made.json")
	rec, err := Record(path, Recording{Job: "J1", Model: "m/x"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{rec.Keep(talk("much too much"), nil), rec.Keep(talk("less"), answered("well"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	m, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	var e *llm.Error
	if _, err := m.Generate(t.Context(), talk("much too much"), nil); !errors.As(err, &e) || e.Kind != llm.TooLong {
		t.Errorf("%v", err)
	}
	if r, err := m.Generate(t.Context(), talk("less"), nil); err != nil || r.Message.Text != "well" {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestGone goes on with the turns of a conversation that lost its beginning.
func TestGone(t *testing.T) {
	m := parse(t, "turns: [{text: a}, {text: b}, {text: c}, {text: d}]")
	req := talk("q", "b", "and?")
	req.Compacted = 2
	if r, err := m.Generate(t.Context(), req, nil); err != nil || r.Message.Text != "d" {
		t.Errorf("%+v, %v", r, err)
	}
}

// A known secret is redacted in whatever field of an answer it stands.
func TestNoSecretInARecording(t *testing.T) {
	const key = "sk-4f9aQz81Lw0pXy77Rt"
	path := filepath.Join(t.TempDir(), "made.json")
	rec, err := Record(path, Recording{Job: "J1", Model: "m/x"}, secret.NewRedactor(secret.Options{Known: []secret.Known{{Name: "KEY", Value: key}}}))
	if err != nil {
		t.Fatal(err)
	}
	resp := answered("text " + key)
	resp.Message.Thinking = "thinking " + key
	resp.Notes = []string{"note " + key}
	resp.Message.Calls = []llm.Call{{Name: "tool_" + key, Args: []byte(`{"` + key + `": "` + key + `"}`), Malformed: "bad " + key, Raw: "raw " + key}}
	if err := rec.Keep(talk("my key is "+key), resp); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(b), key) || !strings.Contains(string(b), "tool_") {
		t.Errorf("%v\n%s", err, b)
	}
	if _, err := Load(path); err != nil {
		t.Errorf("it does not play any more: %v", err)
	}
}
