package tools

import "testing"

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		name, artifact string
		want           bool
	}{
		{"content", "content", true},
		{"content", "contents", false},
		{"section/*", "section/intro", true},
		{"section/*", "section/a/b", true},
		{"section/*", "section/", false},
		{"section/*", "sections/intro", false},
		{"*", "content", false},
	} {
		if got := Matches(c.name, c.artifact); got != c.want {
			t.Errorf("%s matches %s: %v", c.name, c.artifact, got)
		}
	}
}
