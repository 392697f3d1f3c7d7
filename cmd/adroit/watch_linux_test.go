package main

import (
	"regexp"
	"strings"
	"testing"
)

// A terminal shows what the model writes as it comes, the command with the end of its
// output, the diff, what was found, and the last words once.
func TestWatchAtTerminal(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"home/.config/adroit/agents/eye.md": "---\ndescription: Look.\ntools: [write_file, shell, report_findings]\n---\nYou look.\n",
		"turns.yaml": `turns:
  - thinking: First a file.
    text: "I write **a file**.\nIt has one line."
    calls: [{name: write_file, args: {path: a.txt, content: "one line\n"}}]
  - calls: [{name: shell, args: {command: "seq 9; exit 3"}}]
  - calls: [{name: report_findings, args: {summary: One., findings: [{severity: major, category: tests, file: a.txt, line: 1, title: One is not enough, detail: x}]}}]
  - text: "Seen.\n\nAll of it \e]0;title\a is fine."
`})
	x, wait := p.terminal(80, []string{"TERM=xterm"}, "run", "eye", "go", "-m", "script:../turns.yaml", "--approve", "all")
	if code := wait(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	drawn := regexp.MustCompile(`[^\n]*\r\x1b\[K`) // the last line, before it was cleared
	text := regexp.MustCompile(`\x1b\[[0-9]*m`).ReplaceAllString(strings.ReplaceAll(x.text(), "\r\n", "\n"), "")
	text = drawn.ReplaceAllString(text, "")
	for _, want := range []string{"     thought, 3 words\n", "     I write a file.\n     It has one line.\n", "\n       +one line\n", "$ seq 9; exit 3 -> exit code 3", "\n       9\n",
		"\na.txt:1 major One is not enough\n", `All of it \x1b]0;title\x07 is fine.`} {
		if strings.Count(text, want) != 1 {
			t.Errorf("%q is there %d times", want, strings.Count(text, want))
		}
	}
	if strings.ContainsAny(text, "\x1b\x07") || t.Failed() {
		t.Errorf("screen:\n%s\n%q", text, x.text())
	}
}

// A terminal gets help in its own width, a pipe as it was written.
func TestHelpFits(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	for _, args := range [][]string{{"run", "--help"}, {"jobs", "--help"}, {"continue", "--help"}, {"agents"}, {"tools"}} {
		x, wait := p.terminal(80, []string{"TERM=xterm", "NO_COLOR=1"}, args...)
		if code := wait(); code != 0 {
			t.Errorf("%v: exit code %d", args, code)
		}
		for l := range strings.SplitSeq(strings.ReplaceAll(x.text(), "\r\n", "\n"), "\n") {
			if len([]rune(l)) > 80 {
				t.Errorf("%v: %q", args, l)
			}
		}
	}
}
