package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/testenv"
)

// The transcript in the README is what the demonstration prints, but for ids,
// places and times.
func TestReadmeTranscript(t *testing.T) {
	testenv.NeedsProgram(t, "go") // the demonstration tests a Go project
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(readme), "\njob J")
	transcript, _, ended := strings.Cut(rest, "\n```")
	if !ok || !ended {
		t.Fatal("the README has no transcript that begins with a job line")
	}
	p := newPlace(t, nil)
	p.env = append(p.env, "GOCACHE="+goCache(t), "GOTOOLCHAIN=local")
	code, out := p.run("demo")
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	took := regexp.MustCompile(` +[0-9.]+s$`)
	printed := map[string]bool{}
	for l := range strings.Lines(out) {
		printed[took.ReplaceAllString(strings.TrimRight(l, "\n"), "")] = true
	}
	for i, l := range strings.Split(transcript, "\n") {
		if l = took.ReplaceAllString(l, ""); i > 0 && !printed[l] {
			t.Errorf("the demonstration does not print %q:\n%s", l, out)
		}
	}
}
