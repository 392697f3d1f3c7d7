package probe

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFacts(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tool.sh"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for output, want := range map[string][2]string{
		"sh: 1: no-such-program-x: not found\n":                         {"program no-such-program-x", NotFound},
		"/bin/sh: line 1: no-such-program-x: command not found\n":       {"program no-such-program-x", NotFound},
		"Error: spawn /bin/sh ENOENT\n    at ChildProcess":              {"program /bin/sh", "there"},
		`exec: "no-such-program-x": executable file not found in $PATH`: {"program no-such-program-x", NotFound},
		"make: ./tool.sh: No such file or directory\n":                  {"program ./tool.sh", "there"},
	} {
		if got := Facts(dir, output)[want[0]]; got != want[1] {
			t.Errorf("Facts(%q)[%s] = %q, want %q", output, want[0], got, want[1])
		}
	}
	if got := Facts(dir, "write /x: no space left on device")["free in "+dir]; !strings.HasSuffix(got, " MB") {
		t.Errorf("free in %s: %q", dir, got)
	}
	if got := Facts(dir, "all is well"); got != nil {
		t.Errorf("facts about nothing: %v", got)
	}
}
