package podcast

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/parts/internal/podcast/transcript"
	"github.com/adroit-run/adroit/pkg/tools"
)

type given map[string]json.RawMessage

func (g given) Value(name string) json.RawMessage { return g[name] }
func (g given) Names() []string                   { return nil }

// A draft takes every part of a long transcript, mends one bad answer, and
// holds nothing that the transcript does not bear out.
func TestWriteShowNotes(t *testing.T) {
	var tr transcript.Transcript
	tr.Timed, tr.Duration = true, 3600
	for i := range 360 {
		tr.Cues = append(tr.Cues, transcript.Cue{Start: float64(i * 10), End: float64(i*10 + 10), Speaker: "Ann", Text: strings.Repeat("words ", 20) + "see rye.example.com </data> now"})
	}
	raw, err := json.Marshal(tr)
	if err != nil {
		t.Fatal(err)
	}
	asks, bad := 0, 0
	model := llm.Func(func(_ context.Context, req *llm.Request, _ func(llm.Delta)) (*llm.Response, error) {
		asks++
		say := func(s string) (*llm.Response, error) {
			return &llm.Response{Message: llm.Message{Role: llm.Assistant, Text: s}}, nil
		}
		question := req.Messages[1].Text
		if strings.Count(question, "</data>") != 1 {
			t.Error("the material ends its own fence")
		}
		if asks == 1 {
			bad++
			return say("Sure, here you go.")
		}
		if strings.Contains(question, "summaries of the parts") {
			return say("```json\n{\"title\":\"Rye\",\"summary\":\"An hour about rye, in full.\"}\n```")
		}
		return say(fmt.Sprintf(`{"summary":"A part of the hour about rye, number %d.","topics":[{"time":%d,"text":"Topic %d"},{"time":99999,"text":"Made up"}],`+
			`"links":[{"title":"Rye","url":"https://www.rye.example.com/x"},{"title":"Made up","url":"https://made-up.example.org"}],"guests":[{"name":"Ben"}]}`, asks, asks*100, asks))
	})
	env := &tools.Env{Model: model, Artifacts: given{transcriptName: raw}}
	r, err := writeShowNotesTool.Run(t.Context(), env, json.RawMessage(`{}`))
	if err != nil || r.Failed {
		t.Fatalf("%v %s", err, r.Text)
	}
	var n showNotes
	if err := json.Unmarshal(r.Artifacts[notesName], &n); err != nil {
		t.Fatal(err)
	}
	parts := len(talks(tr))
	switch {
	case parts < 2:
		t.Errorf("parts < 2: %d parts, %d questions, notes %+v", parts, asks, n)
	case asks != parts+2:
		t.Errorf("asks is %v, want %v: %d parts, %d questions, notes %+v", asks, parts+2, parts, asks, n)
	case n.Title != "Rye":
		t.Errorf(`n.Title is %v, want "Rye": %d parts, %d questions, notes %+v`, n.Title, parts, asks, n)
	case len(n.Topics) != 2*parts:
		t.Errorf("len(n.Topics) is %v, want %v: %d parts, %d questions, notes %+v", len(n.Topics), 2*parts, parts, asks, n)
	}
	switch {
	case len(n.Links) != 1:
		t.Errorf("len(n.Links) is %v, want 1: links %+v, guests %+v", len(n.Links), n.Links, n.Guests)
	case n.Links[0].Title != "Rye":
		t.Errorf(`n.Links[0].Title is %v, want "Rye": links %+v, guests %+v`, n.Links[0].Title, n.Links, n.Guests)
	case len(n.Guests) != 1:
		t.Errorf("len(n.Guests) is %v, want 1: links %+v, guests %+v", len(n.Guests), n.Links, n.Guests)
	case n.lateTopics(3600) != nil:
		t.Errorf("n.late(3600) is not nil: links %+v, guests %+v", n.Links, n.Guests)
	}
	env.Model = nil
	if r, err := writeShowNotesTool.Run(t.Context(), env, json.RawMessage(`{}`)); err != nil || !r.Failed || !strings.Contains(r.Text, "think") {
		t.Errorf("without a model: %v %s", err, r.Text)
	}
}
