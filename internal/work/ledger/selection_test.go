package ledger_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/internal/dev/workspacetest"
	"github.com/adroit-run/adroit/internal/work/ledger"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/workspace"
)

// program makes some random edits as one step, with tools and with commands.
func program(t *testing.T, rnd *rand.Rand, f *workspace.Files, r *process.Runner, step string) {
	t.Helper()
	at, dir := f.At(step), f.Dir()
	for range 1 + rnd.IntN(4) {
		es, _, err := f.List(t.Context(), workspace.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range es {
			if info, err := os.Lstat(filepath.Join(dir, e.Name)); err == nil && info.Mode().IsRegular() {
				names = append(names, e.Name)
			}
		}
		name := names[rnd.IntN(len(names))]
		n := rnd.IntN(1000)
		sh := func(script string) {
			o, err := r.Run(ledger.AtStep(t.Context(), step), process.Cmd{Shell: script, Args: []string{"sh", name, strconv.Itoa(n)}, Snapshot: true})
			if err != nil || o.Code != 0 || o.Note != "" {
				t.Fatalf("%s: %+v, %v", script, o, err)
			}
		}
		switch rnd.IntN(9) {
		case 0, 1:
			if _, err = at.ReadFile(name); err == nil {
				err = at.WriteFile(name, fmt.Appendf(nil, "step %s, %d\n", step, n))
			}
		case 2:
			err = at.WriteFile(fmt.Sprintf("new/%d/%d/n", n%3, n), []byte("new\n"))
		case 3:
			err = at.Rename(name, fmt.Sprintf("moved/%d/m%s", n, step))
		case 4:
			if _, err = at.ReadFile(name); err == nil && len(names) > 5 {
				err = at.Remove(name)
			}
		case 5:
			sh(`chmod 7$(( $2 % 8 ))$(( $2 % 5 )) "$1"; echo "$2" >> "$1"`)
		case 6:
			sh(`ln -sfn "target $2" "ln$(( $2 % 3 ))"; mkdir -p "empty$2"`)
		case 7:
			sh(`mkdir -p c; mv "$1" "c/mv$2"; echo new > "$1"`)
		case 8:
			sh(`rm -rf d$(( $2 % 4 )); printf 'a\000b' > bin`)
		}
		if err != nil {
			t.Fatalf("step %s: %v", step, err)
		}
	}
}

// Steps can be taken back one by one, from some step on, or all at once, and
// so can the undoing; the tree is byte for byte as it was each time.
func TestUndoBySteps(t *testing.T) {
	first := testenv.Seed(t)
	for seed := first; seed < first+4; seed++ {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			f, led, dir := workspacetest.Repository(t)
			r := process.New(dir, "", led)
			defer r.Close()
			rnd := rand.New(rand.NewPCG(seed, 2))
			const steps = 12
			states := [][]string{dirtest.Tree(t, dir)}
			for i := range steps {
				program(t, rnd, f, r, fmt.Sprint(i))
				states = append(states, dirtest.Tree(t, dir))
			}
			equal := func(what string, want []string) {
				t.Helper()
				if got := dirtest.Tree(t, dir); !slices.Equal(got, want) {
					t.Fatalf("%s:\n%s", what, dirtest.Diff(want, got))
				}
			}
			// A step that came to nothing is not in the ledger.
			undo := func(part ledger.Selection, err error) ledger.UndoReport {
				t.Helper()
				var none *ledger.StepError
				if errors.As(err, &none) {
					return ledger.UndoReport{}
				}
				if err != nil {
					t.Fatal(err)
				}
				report, err := part.IncludeUncertain().Undo(t.Context(), dir)
				if err != nil || len(report.Skipped) > 0 {
					t.Fatalf("%+v, %v", report, err)
				}
				return report
			}
			// The latest steps one by one, …
			for i := steps - 1; i >= steps-4; i-- {
				undo(led.Step(t.Context(), fmt.Sprint(i)))
				equal(fmt.Sprint("undone step ", i), states[i])
			}
			// … the undoing of the first of them, and the undoing of that, …
			undos := led.Undos()
			undo(led.From(t.Context(), "undo.1"))
			equal("undid the undoing", states[steps])
			if led.Undos() == undos {
				t.Error("undoing an undo is no step")
			}
			// … from some step on, and at last everything.
			k := rnd.IntN(steps - 4)
			undo(led.From(t.Context(), fmt.Sprint(k)))
			if _, err := led.From(t.Context(), fmt.Sprint(k)); err == nil {
				equal(fmt.Sprint("undone from step ", k), states[k])
			}
			undo(led.All(), nil)
			equal("undone everything", states[0])
			if again := undo(led.All(), nil); len(again.Restored)+len(again.Removed) > 0 {
				t.Errorf("the second time it did %+v", again)
			}
		})
	}
}

func TestUndoOfOneStepTouchesNoOther(t *testing.T) {
	f, led, dir := workspacetest.Open(t)
	r := process.New(dir, "", led)
	defer r.Close()
	for _, name := range []string{"a", "b", "c", "d"} {
		dirtest.Write(t, filepath.Join(dir, name), "0\n")
	}
	put := func(step, name, text string) {
		t.Helper()
		if _, err := f.ReadFile(name); err != nil {
			t.Fatal(err)
		}
		if err := f.At(step).WriteFile(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	put("1.0", "a", "1\n")
	put("1.0", "b", "1\n")
	put("1.0", "c", "one\n") // kept nowhere else
	if o, err := r.Run(ledger.AtStep(t.Context(), "1.1"), process.Cmd{Shell: "echo 2 > b; echo 2 > d", Snapshot: true}); err != nil || o.Code != 0 {
		t.Fatal(o, err)
	}
	put("10", "d", "3\n")
	dirtest.Write(t, filepath.Join(dir, "c"), "somebody\n")

	steps, err := led.Steps(t.Context())
	var names []string
	for _, s := range steps {
		for _, c := range s.Changes {
			names = append(names, s.Step+" "+c.Path)
		}
	}
	if want := []string{"1.0 a", "1.0 b", "1.0 c", "1.1 b", "1.1 d", "10 d"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("steps %q, %v, want %q", names, err, want)
	}
	part, err := led.Step(t.Context(), "1.0")
	if err != nil {
		t.Fatal(err)
	}
	// What the step left is shown, also where it is something else by now.
	diff, err := part.Diff(t.Context(), dir)
	switch {
	case err != nil:
		t.Errorf("unexpected error: diff of a step:\n%s%v", diff, err)
	case strings.Count(diff, "+1\n") != 2:
		t.Errorf("strings.Count(diff, \"+1\\n\") is not 2: diff of a step:\n%s%v", diff, err)
	case strings.Contains(diff, "+2"):
		t.Errorf("diff contains \"+2\": diff of a step:\n%s%v", diff, err)
	case !strings.Contains(diff, "+one"):
		t.Errorf("diff lacks \"+one\": diff of a step:\n%s%v", diff, err)
	}
	dirtest.Write(t, filepath.Join(dir, "d"), "somebody\n")
	last, err := led.Step(t.Context(), "10")
	if err != nil {
		t.Fatal(err)
	}
	if diff, err = last.Diff(t.Context(), dir); err != nil || !strings.Contains(diff, "-2\n+3\n") {
		t.Errorf("diff of the last step:\n%s%v", diff, err)
	}
	report, err := part.IncludeUncertain().Undo(t.Context(), dir)
	if err != nil || !slices.Equal(report.Restored, []string{"a"}) {
		t.Fatalf("%+v, %v", report, err)
	}
	want := []ledger.Skipped{{"b", "step 1.1 changed it later"}, {"c", "it has been changed since the job changed it"}}
	if !slices.Equal(report.Skipped, want) {
		t.Errorf("skipped %+v, want %+v", report.Skipped, want)
	}
	for name, text := range map[string]string{"a": "0\n", "b": "2\n", "c": "somebody\n", "d": "somebody\n"} {
		if got := dirtest.Content(t, filepath.Join(dir, name)); got != text {
			t.Errorf("%s has %q, want %q", name, got, text)
		}
	}
	// Once the later step is undone, the earlier one can be; 1 is both.
	both, err := led.Step(t.Context(), "1")
	if err != nil {
		t.Fatal(err)
	}
	if report, err = both.IncludeUncertain().Undo(t.Context(), dir); err != nil || !slices.Equal(report.Restored, []string{"b"}) || len(report.Skipped) != 2 {
		t.Errorf("%+v, %v", report, err)
	}
	var none *ledger.StepError
	if _, err := led.Step(t.Context(), "7"); !errors.As(err, &none) {
		t.Errorf("a step that changed nothing: %v", err)
	}
	if _, err := led.Step(t.Context(), ""); !errors.As(err, &none) {
		t.Errorf("no step: %v", err)
	}
}

// A step between two others of the same file cannot be taken out.
func TestUndoOfWhatWasBuiltOn(t *testing.T) {
	f, led, dir := workspacetest.Open(t)
	dirtest.Write(t, filepath.Join(dir, "a"), "0")
	for i, step := range []string{"1", "2", "1", "3"} {
		if _, err := f.ReadFile("a"); err != nil {
			t.Fatal(err)
		}
		if err := f.At(step).WriteFile("a", fmt.Append(nil, i+1)); err != nil {
			t.Fatal(err)
		}
	}
	for step, reason := range map[string]string{"1": "step 2 changed it in between", "2": "step 3 changed it later"} {
		part, err := led.Step(t.Context(), step)
		if err != nil {
			t.Fatal(err)
		}
		report, err := part.Undo(t.Context(), dir)
		if err != nil || len(report.Skipped) != 1 || report.Skipped[0].Reason != reason {
			t.Errorf("step %s: %+v, %v", step, report, err)
		}
	}
	if got := dirtest.Content(t, filepath.Join(dir, "a")); got != "4" {
		t.Errorf("a has %q", got)
	}
}

// Somebody takes back the newest edit by hand, so that the file is as if a crash had prevented it.
// What changed during the command before that edit is not the job's, and a second undo finds
// nothing to do.
func TestUndoAfterTheNewestEditIsTakenBack(t *testing.T) {
	f, led, dir := workspacetest.Open(t)
	a := filepath.Join(dir, "a")
	dirtest.Write(t, a, "one\ntwo\nthree\nfour\n")
	write := func(step, text string) {
		t.Helper()
		_, err := f.ReadFile("a")
		dirtest.Must(t, err)
		dirtest.Must(t, f.At(step).WriteFile("a", []byte(text)))
	}
	write("1", "job\none\ntwo\nthree\nfour\n")
	snap, err := led.At("2").Snapshot(t.Context(), dir)
	dirtest.Must(t, err)
	dirtest.Write(t, a, "job\none\ntwo\nthree\nfour\nsomebody\n")
	_, err = snap.Record(t.Context())
	dirtest.Must(t, err)
	write("3", "job\none\ntwo\njob again\nthree\nfour\nsomebody\n")
	dirtest.Write(t, a, "job\none\ntwo\nthree\nfour\nsomebody\n")
	for try := range 2 {
		report, err := led.Undo(t.Context(), dir)
		dirtest.Must(t, err)
		if got := dirtest.Content(t, a); got != "one\ntwo\nthree\nfour\nsomebody\n" {
			t.Errorf("after undo %d: %q", try+1, got)
		}
		if done := len(report.Restored); done != 1-try || len(report.Skipped) != 1 {
			t.Errorf("undo %d: %+v", try+1, report)
		}
	}
}

// A file was moved without a note of it, as joining a copy does, and somebody works on under its
// old name: what was in it stays where it is, since an undo does not bring it back.
func TestUndoKeepsWhatWasMoved(t *testing.T) {
	f, led, dir := workspacetest.Open(t)
	a := filepath.Join(dir, "a")
	dirtest.Write(t, a, "the person's\n")
	_, err := f.ReadFile("a")
	dirtest.Must(t, err)
	dirtest.Must(t, f.At("1").WriteFile("b", []byte("the person's\n")))
	dirtest.Must(t, f.At("1").Remove("a"))
	dirtest.Must(t, f.At("2").WriteFile("a", []byte("job\n")))
	dirtest.Write(t, a, "somebody\n")
	report, err := led.Undo(t.Context(), dir)
	dirtest.Must(t, err)
	if dirtest.Content(t, a) != "somebody\n" || dirtest.Content(t, filepath.Join(dir, "b")) != "the person's\n" || len(report.Skipped) != 2 {
		t.Errorf("%+v, %q", report, dirtest.Tree(t, dir))
	}
}

// The newest record is of an undo that a crash prevented.
func TestUndoGoesOnAfterACrash(t *testing.T) {
	f, led, dir := workspacetest.Open(t)
	dirtest.Write(t, filepath.Join(dir, "a"), "original")
	for name, text := range map[string]string{"a": "job", "made": "job"} {
		if err := f.At("1").WriteFile(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	dirtest.Must(t, led.BeginUndo(func() {
		dirtest.Write(t, filepath.Join(dir, ledger.CrashTemp), "orig")
		report, err := led.Undo(t.Context(), dir)
		if err != nil || len(report.Skipped) > 0 {
			t.Fatalf("%+v, %v", report, err)
		}
	}))
	if left, _ := filepath.Glob(filepath.Join(dir, ".adroit-*")); len(left) > 0 {
		t.Errorf("left over: %q", left)
	}
	if _, err := os.Lstat(filepath.Join(dir, "made")); err == nil || dirtest.Content(t, filepath.Join(dir, "a")) != "original" {
		t.Error("the undo was not finished")
	}
}
