package adroittest

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/guard/trust"
)

// What an operator decides about a project holds for the files as they are.
func testTrust(t *testing.T, f *fixture) {
	must(t, os.WriteFile(filepath.Join(f.dir, "AGENTS.md"), []byte("Be brief.\n"), 0o644))
	st, err := f.Trust(t.Context(), f.dir)
	must(t, err)
	if len(st.Files) != 1 || st.Files[0].State == trust.Trusted {
		t.Fatalf("%+v", st)
	}
	st, err = f.SetTrust(t.Context(), adroit.TrustChange{Dir: f.dir, Trust: true})
	must(t, err)
	if st.Files[0].State != trust.Trusted {
		t.Errorf("%+v", st)
	}
	places, err := f.Trusts(t.Context())
	must(t, err)
	if len(places) != 1 || !slices.Equal(places[0].Trusted, []string{"AGENTS.md"}) {
		t.Errorf("decided about %+v", places)
	}
	_, err = f.SetTrust(t.Context(), adroit.TrustChange{Dir: f.dir, Revoke: true})
	must(t, err)
	_, err = f.SetTrust(t.Context(), adroit.TrustChange{Dir: f.dir, Revoke: true})
	if e := kind(t, err, problem.Failed); e.Hint == "" {
		t.Errorf("nothing to revoke: %+v", e)
	}

	// What was shown is decided about, not what lies there by now.
	shown, err := f.Trust(t.Context(), f.dir)
	must(t, err)
	if shown.Files[0].Text != "Be brief.\n" {
		t.Errorf("the text is %q", shown.Files[0].Text)
	}
	must(t, os.WriteFile(filepath.Join(f.dir, "AGENTS.md"), []byte("Be evil.\n"), 0o644))
	st, err = f.SetTrust(t.Context(), adroit.TrustChange{Dir: f.dir, Files: shown.Files, Trust: true})
	must(t, err)
	if st.Files[0].State != trust.Changed {
		t.Errorf("a file that changed after it was shown is %s", st.Files[0].State)
	}
	_, err = f.SetTrust(t.Context(), adroit.TrustChange{Dir: f.dir, Files: []trust.File{{Path: "../x", Hash: "0"}}, Trust: true})
	kind(t, err, problem.Invalid)

	// What is too much to be shown at once is not trusted unseen.
	for i := range 7 {
		dir := filepath.Join(f.dir, fmt.Sprint("d", i))
		must(t, os.Mkdir(dir, 0o755))
		must(t, os.WriteFile(filepath.Join(dir, "AGENTS.md"), bytes.Repeat([]byte("long\n"), 180_000), 0o644))
	}
	for want := 3; want >= 0; want -= 3 {
		st, err = f.Trust(t.Context(), f.dir)
		must(t, err)
		unshown := slices.DeleteFunc(slices.Clone(st.Files), func(f trust.File) bool { return !f.Unshown })
		if len(unshown) != want {
			t.Fatalf("%d of %d files are not shown, want %d", len(unshown), len(st.Files), want)
		}
		if want > 0 {
			_, err = f.SetTrust(t.Context(), adroit.TrustChange{Dir: f.dir, Files: st.Files, Trust: true})
			kind(t, err, problem.Invalid)
		}
		st, err = f.SetTrust(t.Context(), adroit.TrustChange{Dir: f.dir, Trust: true})
		must(t, err)
		if left := len(st.Pending()); left != want {
			t.Errorf("%d files are not trusted, want %d", left, want)
		}
	}
}

// A removed job is gone.
func testRemove(t *testing.T, f *fixture) {
	j := f.run(t, f.request(executor.ApproveAll))
	gone, err := f.Remove(t.Context(), j.ID, adroit.RemoveOptions{})
	must(t, err)
	if gone.ID != j.ID {
		t.Errorf("%s was removed", gone.ID)
	}
	_, err = f.Job(t.Context(), j.ID)
	kind(t, err, problem.NotFound)

	// Whoever had it removed learns which branch stays, wherever the runtime is.
	f.repository(t)
	must(t, exec.Command("git", "-C", f.dir, "switch", "-q", "--detach").Run())
	r := f.request(executor.ApproveAll)
	r.Worktree = true
	j = f.run(t, r)
	if _, err := f.Merge(t.Context(), j.ID, ""); err == nil {
		t.Error("it was merged into no branch")
	}
	gone, err = f.Remove(t.Context(), j.ID, adroit.RemoveOptions{})
	must(t, err)
	if len(gone.Notes) != 1 || !strings.Contains(gone.Notes[0], "stays, as it is not merged") {
		t.Errorf("%q is noted of a branch that stays", gone.Notes)
	}
}

// Jobs that ended long enough ago are removed, one that cannot be is reported.
func testPrune(t *testing.T, f *fixture) {
	f.repository(t)
	done := f.run(t, f.request(executor.ApproveAll))
	r := f.request(executor.ApproveAll)
	r.Worktree = true
	kept := f.run(t, r) // what it wrote is nowhere else
	queued, err := f.Submit(t.Context(), f.request(""))
	must(t, err)
	for _, c := range []struct {
		o             adroit.PruneOptions
		removed, kept []string
	}{
		{adroit.PruneOptions{Age: time.Hour}, nil, nil},
		{adroit.PruneOptions{DryRun: true}, []string{kept.ID, done.ID}, nil},
		{adroit.PruneOptions{}, []string{done.ID}, []string{kept.ID}},
		{adroit.PruneOptions{}, nil, []string{kept.ID}},
	} {
		got, err := f.Prune(t.Context(), c.o)
		must(t, err)
		var ids []string
		for _, k := range got.Kept {
			ids = append(ids, k.Job)
		}
		if !slices.Equal(got.Removed, c.removed) || !slices.Equal(ids, c.kept) {
			t.Errorf("%+v removed %v, want %v, and kept %v, want %v", c.o, got.Removed, c.removed, ids, c.kept)
		}
		if err := got.Err(); (err != nil) != (c.kept != nil) || err != nil && (!strings.HasPrefix(err.Error(), kept.ID+" is kept: ") || !strings.Contains(problem.Hint(err), "rm --force")) {
			t.Errorf("%+v: %v, hint %q", c.o, err, problem.Hint(err))
		}
	}
	if list, err := f.Jobs(t.Context(), adroit.ListOptions{}); err != nil || len(list) != 2 || list[0].ID != queued.Job.ID {
		t.Errorf("%v, %+v", err, list)
	}
}
