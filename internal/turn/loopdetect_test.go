package turn

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// turns reads a list of turns: call=result, or call!error for one that failed.
func turns(list string) (out []Fingerprint) {
	for word := range strings.FieldsSeq(list) {
		at := strings.IndexAny(word, "=!")
		call := llm.Call{Name: "tool", Args: json.RawMessage(word[:at])}
		out = Add(out, Of([]llm.Call{call}, []tools.Result{{Text: word[at+1:], Failed: word[at] == '!'}}))
	}
	return out
}

func TestFind(t *testing.T) {
	repeat := func(n int, list string) string { return strings.Repeat(list+" ", n) }
	for _, c := range []struct {
		turns string
		since int // turns since the last reminder
		want  string
		stop  bool
	}{
		{turns: "", since: 9},
		{turns: repeat(2, "1=a"), since: 9},
		{turns: repeat(3, "1=a"), since: 3, want: "the same call with the same result"},
		{turns: repeat(3, "1=a"), since: 2},
		{turns: repeat(5, "1=a"), since: 3, want: "the same call with the same result"},
		{turns: repeat(6, "1=a"), since: 1, want: "the same call with the same result", stop: true},
		{turns: "1=a 1=b 1=c 1=d 1=e", since: 9},
		{turns: "1=a 1=b 1=c 1=d 1=e 1=f", since: 9, want: "the same call"},
		{turns: "1!no-1 2!no-22 3!no-333", since: 9, want: "the same error"},
		{turns: repeat(2, "1=a 2=b"), since: 9},
		{turns: repeat(3, "1=a 2=b"), since: 9, want: "the same two calls in turn"},
		{turns: repeat(5, "1=a 2=b"), since: 0, want: "the same two calls in turn", stop: true},
		{turns: repeat(5, "1=a 2=b 3=c"), since: 0, want: "the same three calls in turn", stop: true},
		{turns: repeat(5, "1=a 2=b") + "3=c", since: 9},
	} {
		loop := Find(turns(c.turns), c.since)
		if c.want == "" {
			if loop != nil {
				t.Errorf("%q: found %+v, want none", c.turns, *loop)
			}
			continue
		}
		if loop == nil || loop.Reason != c.want || loop.Stop != c.stop {
			t.Errorf("%q: found %+v, want %q, stop %v", c.turns, loop, c.want, c.stop)
		}
	}
}

func TestAddForgets(t *testing.T) {
	if n := len(turns(strings.Repeat("1=a ", 100))); n != maxFingerprints {
		t.Errorf("%d turns are remembered, want %d", n, maxFingerprints)
	}
}

func TestFailing(t *testing.T) {
	var f Failing
	for n := range SameFailures {
		if f.Pause("t", 1) {
			t.Fatalf("paused after %d failures", n)
		}
		f = f.Add("t", "exit 1", "e")
	}
	if !f.Pause("t", 4) || f.Pause("t", 4) {
		t.Error("the tool is not paused once")
	}
	if !f.Paused("t", 4+PauseTurns) || f.Paused("t", 5+PauseTurns) || f.Paused("u", 4) {
		t.Error("the tool is not paused for its turns alone")
	}
	f.Resume(4 + PauseTurns)
	if len(f) > 0 {
		t.Errorf("%v is left after the pause", f)
	}
	if f = f.Add("t", "a", "e").Add("t", "b", "e"); f["t"].N != 1 {
		t.Errorf("another error counts as the %d. of the same", f["t"].N)
	}
}
