package rates

import (
	"errors"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]Rate{
		"10/s":     {10, time.Second},
		"100/m":    {100, time.Minute},
		"5/15m":    {5, 15 * time.Minute},
		" 2 / 3h ": {2, 3 * time.Hour},
		"0/d":      {0, 24 * time.Hour},
	} {
		got, err := Parse(text)
		if err != nil || got != want {
			t.Errorf("Parse(%q) is %v, %v; want %v", text, got, err, want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, text := range []string{"", "10", "10/", "10/w", "x/s", "-1/s", "1/0s"} {
		if got, err := Parse(text); err == nil {
			t.Errorf("Parse(%q) is %v, want an error", text, got)
		}
	}
	if _, err := Parse("10/w"); !errors.Is(err, ErrSyntax) {
		t.Errorf("the error is %v", err)
	}
}

func TestString(t *testing.T) {
	for _, text := range []string{"10/s", "100/m", "5/15m", "2/3h", "0/d"} {
		r, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.String(); got != text {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}

type clock struct{ time.Time }

func (c *clock) now() time.Time { return c.Time }

func TestAllow(t *testing.T) {
	c := &clock{time.Unix(1000, 0)}
	l := NewLimiter(Rate{2, time.Second}, c.now)
	for i, want := range []bool{true, true, false} {
		if got := l.Allow(); got != want {
			t.Errorf("event %d: %t, want %t", i, got, want)
		}
	}
	c.Time = c.Add(time.Second)
	if !l.Allow() {
		t.Error("a second later nothing is allowed")
	}
}

func TestNever(t *testing.T) {
	l := NewLimiter(Rate{0, time.Second}, nil)
	if l.Allow() {
		t.Error("it is allowed")
	}
	if got := l.Wait(); got != -1 {
		t.Errorf("Wait is %v, want -1", got)
	}
}

func TestGroup(t *testing.T) {
	c := &clock{time.Unix(1000, 0)}
	g := NewGroup(Rate{1, time.Minute}, c.now)
	if !g.Allow("a") || !g.Allow("b") {
		t.Error("the first events are not allowed")
	}
	if g.Allow("a") {
		t.Error("the second event of a is allowed")
	}
	if g.Keys() != 2 {
		t.Errorf("there are %d keys", g.Keys())
	}
}
