package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// At a terminal the key is asked for and not shown.
func TestLoginAtATerminal(t *testing.T) {
	t.Parallel()
	p := newWorld(t).place(t, "turns: []\n", nil)
	p.bin = program(t)
	home := t.TempDir()
	term, wait := p.terminal(80, []string{"HOME=" + home, "XDG_CONFIG_HOME="}, "config", "login", "openai", "--no-verify")
	until := time.Now().Add(5 * time.Minute)
	for !strings.Contains(term.text(), "key of openai (is not shown): ") {
		if time.Now().After(until) {
			t.Fatalf("it does not ask:\n%s", term.text())
		}
		time.Sleep(10 * time.Millisecond)
	}
	if _, err := term.ours.WriteString("sk-typed-0123456789\n"); err != nil {
		t.Fatal(err)
	}
	if code := wait(); code != 0 || strings.Contains(term.text(), "typed") {
		t.Errorf("exit code %d\n%s", code, term.text())
	}
	b, err := os.ReadFile(filepath.Join(home, ".config", "adroit", "credentials.json"))
	if err != nil || string(b) != `{"openai":"sk-typed-0123456789"}` {
		t.Errorf("kept is %q, %v", b, err)
	}
}
