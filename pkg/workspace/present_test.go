package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/adroit-run/adroit/internal/work/process"
)

// What runs, what has ended, and what a crash of the runner cut short.
func TestCommands(t *testing.T) {
	dir, logs := t.TempDir(), t.TempDir()
	first := process.New(dir, logs, nil)
	if o, err := first.Run(t.Context(), process.Cmd{Shell: "echo one; exit 3"}); err != nil || o.Code != 3 {
		t.Fatal(o, err)
	}
	if _, err := first.Run(t.Context(), process.Cmd{Args: []string{"true"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := first.Start(t.Context(), process.Cmd{Shell: "sleep 300"}); err != nil {
		t.Fatal(err)
	}
	all := first.Commands()
	switch {
	case len(all) != 2:
		t.Errorf("len(all) is %v, want 2: %+v", len(all), all)
	case all[0].ID != "c1":
		t.Errorf(`all[0].ID is %v, want "c1": %+v`, all[0].ID, all)
	case all[0].Code != 3:
		t.Errorf("all[0].Code is %v, want 3: %+v", all[0].Code, all)
	case all[0].Bytes != 4:
		t.Errorf("all[0].Bytes is %v, want 4: %+v", all[0].Bytes, all)
	case all[0].Running:
		t.Errorf("all[0].Running is true: %+v", all)
	case all[1].ID != "c3":
		t.Errorf(`all[1].ID is %v, want "c3": %+v`, all[1].ID, all)
	case !all[1].Running:
		t.Errorf("all[1].Running is false: %+v", all)
	case all[1].Command != "sleep 300":
		t.Errorf(`all[1].Command is %v, want "sleep 300": %+v`, all[1].Command, all)
	}
	if first.Died("c3") || first.Died("c1") || first.Died("c99") || first.Died("../c1") {
		t.Error("a command that runs, one that ended, or none has died")
	}
	// Another process that looks at the same logs while the first is there no
	// more: nobody had the time to close the log of c3.
	second := process.New(dir, logs, nil)
	defer second.Close()
	if all = second.Commands(); len(all) != 1 || all[0].ID != "c3" || !all[0].Died {
		t.Errorf("after a crash: %+v", all)
	}
	if !second.Died("c3") || second.Died("c1") {
		t.Error("c3 died, c1 did not")
	}
	// An orderly end stops what runs, and that is no crash.
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if all = second.Commands(); len(all) != 0 || second.Died("c3") {
		t.Errorf("after an orderly end: %+v", all)
	}
}

// Conformance 35.
func TestWorkspaceGone(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "w")
	for what, do := range map[string]func() error{
		"deleted":           func() error { return os.RemoveAll(dir) },
		"replaced":          func() error { return errors.Join(os.Rename(dir, dir+"2"), os.Mkdir(dir, 0o755)) },
		"replaced by file":  func() error { return errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o600)) },
		"replaced by alink": func() error { return errors.Join(os.Rename(dir, dir+"3"), os.Symlink(dir+"3", dir)) },
	} {
		if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o755)); err != nil {
			t.Fatal(err)
		}
		f, err := Open(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Present(); err != nil {
			t.Errorf("before: %v", err)
		}
		if err := do(); err != nil {
			t.Fatal(err)
		}
		var gone *goneError
		if err := f.Present(); !errors.As(err, &gone) || gone.Dir != f.Dir() {
			t.Errorf("%s: %v", what, err)
		}
		f.Close()
	}
}
