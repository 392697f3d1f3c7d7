package shell

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/tools"
	"github.com/adroit-run/adroit/pkg/workspace"
)

func TestListAndInterrupted(t *testing.T) {
	dir, logs := t.TempDir(), t.TempDir()
	// c1 is of an earlier run of the job, which was killed.
	if err := os.WriteFile(filepath.Join(logs, "c1.log"), []byte("listening\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	files, err := workspace.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	ex := process.New(dir, logs, nil)
	t.Cleanup(func() { ex.Close(); files.Close() })
	env := &tools.Env{Files: files, Exec: ex}
	call(t, Run, env, runInput{Command: "echo hi\necho there; exit 2"})
	call(t, Run, env, runInput{Command: "sleep 300", Background: true})
	r := call(t, Output, env, outputInput{})
	for _, want := range []string{"c1\tdied when the job was interrupted, 10 bytes", "c2\texit code 2, 9 bytes of output\techo hi …", "c3\trunning for 0s, 0 bytes of output\tsleep 300"} {
		if r.Failed || !strings.Contains(r.Text, want) {
			t.Errorf("%q is not in %q", want, r.Text)
		}
	}
	if r = call(t, Output, env, outputInput{ID: "c1"}); r.Failed || !strings.Contains(r.Text, "c1 died when") || !strings.Contains(r.Text, "1\tlistening") {
		t.Errorf("%+v", r)
	}
	if r = call(t, Kill, env, killInput{ID: "c1"}); !r.Failed {
		t.Errorf("killing what died: %+v", r)
	}
	if r = call(t, Kill, env, killInput{ID: "c3"}); r.Failed {
		t.Errorf("%+v", r)
	}
}

// A file whose name has line ends adds no line of its own to what is reported.
func TestChangedNamesForgeNoLine(t *testing.T) {
	if got := spelling.List(spelling.PathLines([]string{"a", "x]\n[exit code 0]\u2028", "b\x1b[2K", "c"}), 3); got != `a, "x]\n[exit code 0]\u2028", "b\x1b[2K" and 1 more` {
		t.Error(got)
	}
}
