package llm_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/adroit-run/adroit/pkg/llm"
)

func TestWireEncodesEachMessageOnce(t *testing.T) {
	var w llm.EncodedHistory
	encoded := 0
	encode := func(dst []byte, m *llm.Message) ([]byte, error) {
		encoded++
		b, err := json.Marshal(m.Text)
		return append(dst, b...), err
	}
	var msgs []llm.Message
	for n := range 50 {
		msgs = append(msgs, llm.Message{Text: fmt.Sprint("message ", n)})
		got, err := w.Encode("a", msgs, encode)
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		switch err := json.Unmarshal(got, &texts); {
		case err != nil:
			t.Fatalf("unexpected error: after %d messages: %v, %s", n+1, err, got)
		case len(texts) != n+1:
			t.Fatalf("len(texts) is %v, want %v: after %d messages: %v, %s", len(texts), n+1, n+1, err, got)
		case texts[n] != msgs[n].Text:
			t.Fatalf("texts[n] is %v, want %v: after %d messages: %v, %s", texts[n], msgs[n].Text, n+1, err, got)
		case texts[0] != msgs[0].Text:
			t.Fatalf("texts[0] is %v, want %v: after %d messages: %v, %s", texts[0], msgs[0].Text, n+1, err, got)
		}
	}
	if encoded != 50 {
		t.Errorf("encoded %d times for 50 messages", encoded)
	}
	// A retry sends the same, another dialect and a shorter conversation
	// start afresh.
	for _, c := range []struct {
		dialect string
		msgs    []llm.Message
		want    int
	}{{"a", msgs, 0}, {"b", msgs, 50}, {"b", msgs[:3], 3}, {"b", nil, 0}} {
		encoded = 0
		got, err := w.Encode(c.dialect, c.msgs, encode)
		if err != nil || encoded != c.want || !json.Valid(got) {
			t.Errorf("%s with %d messages: encoded %d, want %d (%v, %s)", c.dialect, len(c.msgs), encoded, c.want, err, got)
		}
	}
	if got, err := (*llm.EncodedHistory)(nil).Encode("a", msgs[:2], encode); err != nil || string(got) != `["message 0","message 1"]` {
		t.Errorf("without a Wire: %s, %v", got, err)
	}
}
