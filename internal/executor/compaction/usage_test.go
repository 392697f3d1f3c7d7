package compaction

import (
	"strings"
	"testing"
)

func TestUsage(t *testing.T) {
	for _, c := range []struct{ weight, estimate, in, tokens, rate int }{
		{10_000, 3031, 2500, 2500, 4000}, // the server's count is the truth
		{10_000, 3031, 0, 3031, 0},       // it counts nothing
		{10_000, 3031, 5, 3031, 0},       // or only what was new to it
		{10_000, 3031, 90_000, 3031, 0},  // or something else
		{300, 91, 800, 800, 0},           // a template is most of a short request
	} {
		var u Usage
		u.Count(c.weight, c.estimate, c.in)
		if u.Tokens != c.tokens || u.Rate != c.rate {
			t.Errorf("%+v: %+v", c, u)
		}
	}
	if a, b := Weight("plain words of English"), Weight("純粋な日本語の文章です"); b < a {
		t.Errorf("eleven ideographs weigh %d, 22 letters %d", b, a)
	}
	if a, b := Weight(strings.Repeat("word ", 8)), Weight(strings.Repeat(`{"a":1,`, 8)[:40]); b <= a {
		t.Errorf("JSON weighs %d, prose %d", b, a)
	}
}
