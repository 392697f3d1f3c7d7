package adroit_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/agents"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// besideJob are files beside a job that a power cut or a hand can damage. The last ones
// are of a command that was interrupted.
var besideJob = []string{"host.json", "worktree.json", "job.json", "lock", "named", "server-tools.json", "ledger/pending-X", "ledger/overlays/1/overlay.json", "ledger/overlays/2/overlay.json"}

// TestUnknownFiles damages all files beside a job with a worktree, in each way, and of
// a job of this version and one of an earlier, which has its options in files. The job
// can be shown, goes on, is done again, undone and removed; the worktree of this
// version's can be merged.
func TestUnknownFiles(t *testing.T) {
	for _, how := range []string{"empty", "garbage", "removed", "a directory"} {
		for _, version := range []string{"this", "earlier"} {
			t.Run(how+"/"+version, func(t *testing.T) { unknownFiles(t, how, version == "earlier") })
		}
	}
}

func unknownFiles(t *testing.T, how string, earlier bool) {
	dir, data := field(t), t.TempDir()
	o := treesOptions(dir, data)
	var warned []string
	o.Callbacks.Warn = func(s string) { warned = append(warned, s) }
	rt, err := adroit.Open(t.Context(), o)
	dirtest.Must(t, err)
	s, err := rt.Submit(t.Context(), adroit.Request{Target: "worker", Input: agents.Input{Prompt: put("new.txt", "new\n") + put("a.txt", "b\n"), Worktree: true, Approve: executor.ApproveAll}})
	dirtest.Must(t, err)
	id := s.Job.ID
	run := func() {
		t.Helper()
		_, err := rt.Start(t.Context(), id, adroit.StartOptions{})
		dirtest.Must(t, err)
		j, err := rt.Wait(t.Context(), id)
		if err != nil || j.Status != "done" {
			t.Fatalf("the job is %s (%s), %v", j.Status, j.Reason, err)
		}
	}
	run()
	dirtest.Must(t, rt.Close())
	if earlier {
		change(t, data, "update jobs set host = null")
	}
	home := filepath.Join(data, "jobs", id)
	note := `{"root": "` + s.Job.Dir + `", "pending": "pending-X", "temp": ".adroit-x.tmp"}`
	for _, n := range []string{"1", "2"} { // the first has its note, and the second not
		for _, sub := range []string{"upper", "work"} {
			dirtest.Must(t, os.MkdirAll(filepath.Join(home, "ledger/overlays", n, sub), 0o755))
		}
		dirtest.Write(t, filepath.Join(home, "ledger/overlays", n, "lock"), "")
	}
	for _, name := range besideJob {
		file := filepath.Join(home, name)
		switch {
		case strings.HasSuffix(name, "1/overlay.json"):
			dirtest.Write(t, file, note)
		case how == "removed":
			_ = os.Remove(file)
		case how == "a directory":
			_ = os.Remove(file)
			dirtest.Must(t, os.MkdirAll(file, 0o700))
		case how == "empty":
			dirtest.Write(t, file, "")
		default:
			dirtest.Write(t, file, "\x00\x00{")
		}
	}
	warned = nil
	rt = open(t, o)
	d, err := rt.Job(t.Context(), id)
	dirtest.Must(t, err)
	if known := !earlier || how == "removed"; known != (len(warned) == 0) {
		t.Errorf("warnings: %q", warned)
	}
	if known := !earlier; known != (d.Worktree != nil) {
		t.Errorf("the worktree is %v, %s", d.Worktree, d.Unreadable)
	}
	_, err = rt.Send(t.Context(), id, executor.Message{Text: "Go on."})
	dirtest.Must(t, err)
	run()
	if _, err := os.Stat(filepath.Join(home, "ledger/overlays/1/overlay.json")); err == nil {
		t.Error("the interrupted command is not over")
	}
	diff, err := rt.Diff(t.Context(), id, adroit.Selection{})
	dirtest.Must(t, err)
	if len(diff.Changes) != 2 {
		t.Errorf("the diff has %+v", diff)
	}
	if !earlier {
		if m, err := rt.Merge(t.Context(), id, "Work"); err != nil || len(m.Paths) != 2 {
			t.Errorf("%+v, %v", m, err)
		}
	}
	again, err := rt.Retry(t.Context(), id, adroit.RetryOptions{})
	dirtest.Must(t, err)
	if again.Worktree == nil || again.Job.Dir == s.Job.Dir || again.Job.Dir != again.Worktree.Dir() {
		t.Errorf("done again in %s, which is the worktree of the first: %s", again.Job.Dir, s.Job.Dir)
	}
	u, err := rt.Undo(t.Context(), id, adroit.Selection{})
	dirtest.Must(t, err)
	if len(u.Restored)+len(u.Removed) != 2 {
		t.Errorf("%+v", u)
	}
	for _, id := range []string{id, again.Job.ID} {
		_, err = rt.Remove(t.Context(), id, adroit.RemoveOptions{Force: true})
		dirtest.Must(t, err)
		if _, err := os.Stat(filepath.Join(data, "jobs", id)); err == nil {
			t.Errorf("%s is left", id)
		}
	}
	left, err := os.ReadDir(filepath.Join(data, "worktrees"))
	if err != nil || len(left) > 0 && !(earlier && how == "removed") { // of which nothing is known
		t.Errorf("left are %v, %v", left, err)
	}
}

// recordsOfChanges are the files and directories without which nobody knows what a job changed.
var recordsOfChanges = []string{"ledger/journal", "ledger/journal-synced", "ledger", "."}

// TestDamagedRecords damages each file beside a job in each way. A job whose record of changes is
// damaged is never one that changed nothing: show, diff, steps, undo and doctor name the record,
// also after the job has gone on; whatever is damaged, the job goes on and can be removed.
func TestDamagedRecords(t *testing.T) {
	dir, from := field(t), t.TempDir()
	rt, err := adroit.Open(t.Context(), treesOptions(dir, from))
	dirtest.Must(t, err)
	s, err := rt.Submit(t.Context(), adroit.Request{Target: "worker", Input: agents.Input{Prompt: put("new.txt", "new\n") + put("a.txt", "b\n"), Approve: executor.ApproveAll}})
	dirtest.Must(t, err)
	finish(t, rt, s.Job.ID)
	dirtest.Must(t, rt.Close())
	before := dirtest.Content(t, filepath.Join(dir, "a.txt"))
	for _, name := range slices.Concat(recordsOfChanges, besideJob[:6]) {
		for _, how := range []string{"empty", "half", "garbage", "a directory", "unreadable", "missing"} {
			if whole := name == "ledger" || name == "."; whole && how != "missing" {
				continue // of a directory there is no half
			}
			record := slices.Contains(recordsOfChanges, name) && (how != "unreadable" || os.Geteuid() != 0)
			files := map[string][]string{name: {name}}
			if name == "ledger/journal" {
				files["both"] = []string{name, "ledger/journal-synced"}
			}
			for which, names := range files {
				t.Run(which+"/"+how, func(t *testing.T) {
					data := t.TempDir()
					dirtest.Must(t, os.CopyFS(data, os.DirFS(from)))
					dirtest.Write(t, filepath.Join(dir, "new.txt"), "new\n")
					dirtest.Write(t, filepath.Join(dir, "a.txt"), before)
					for _, name := range names {
						damage(t, filepath.Join(data, "jobs", s.Job.ID, name), how)
					}
					damaged(t, treesOptions(dir, data), s.Job.ID, record)
				})
			}
		}
	}
}

// damage damages a file.
func damage(t *testing.T, file, how string) {
	t.Helper()
	old, _ := os.ReadFile(file) // some are not there
	if how != "missing" {
		dirtest.Must(t, os.MkdirAll(filepath.Dir(file), 0o700))
	}
	switch how {
	case "half":
		dirtest.Write(t, file, string(old[:len(old)/2]))
	case "empty":
		dirtest.Write(t, file, "")
	case "garbage":
		dirtest.Write(t, file, "\x00\x00{\n\x00{\n"+string(old))
	case "unreadable":
		dirtest.Write(t, file, string(old))
		dirtest.Must(t, os.Chmod(file, 0))
	default:
		dirtest.Must(t, os.RemoveAll(file))
	}
	if how == "a directory" {
		dirtest.Must(t, os.Mkdir(file, 0o700))
	}
}

// damaged looks at a job, has it go on, undoes and removes it. unknown is set if its record of
// changes is damaged.
func damaged(t *testing.T, o adroit.Options, id string, unknown bool) {
	o.CheckStore = func(context.Context, bool) ([]*jobs.Job, []string, error) { return []*jobs.Job{{ID: id}}, nil, nil }
	rt := open(t, o)
	look := func(when string) {
		t.Helper()
		d, err := rt.Job(t.Context(), id)
		dirtest.Must(t, err)
		if c := d.Changes; unknown != (len(c.Incomplete) > 0 || c.Unreadable != "") || !c.Changed {
			t.Errorf("%s show has %+v", when, c)
		}
		diff, err := rt.Diff(t.Context(), id, adroit.Selection{})
		if unknown != (err != nil || len(diff.Incomplete) > 0) || !unknown && len(diff.Changes) < 2 {
			t.Errorf("%s diff has %+v, %v", when, diff, err)
		}
		steps, err := rt.Steps(t.Context(), id)
		if unknown != (err != nil || len(steps.Incomplete) > 0) || !unknown && len(steps.Steps) < 2 {
			t.Errorf("%s steps has %+v, %v", when, steps, err)
		}
	}
	look("at first")
	found, err := rt.Doctor(t.Context(), adroit.DoctorQuery{Check: true})
	dirtest.Must(t, err)
	named := slices.ContainsFunc(found, func(f adroit.Finding) bool { return f.Status == adroit.Broken && strings.Contains(f.What, id) })
	if named != unknown {
		t.Errorf("doctor found %+v", found)
	}
	_, err = rt.Send(t.Context(), id, executor.Message{Text: put("again.txt", "again\n")})
	dirtest.Must(t, err)
	finish(t, rt, id)
	look("afterwards")
	u, err := rt.Undo(t.Context(), id, adroit.Selection{})
	if unknown != (err != nil || len(u.Incomplete) > 0) || !unknown && len(u.Restored)+len(u.Removed) < 2 {
		t.Errorf("undo has %+v, %v", u, err)
	}
	_, err = rt.Remove(t.Context(), id, adroit.RemoveOptions{Force: true})
	dirtest.Must(t, err)
}

// finish starts a job and waits until it is done.
func finish(t *testing.T, rt *adroit.Runtime, id string) {
	t.Helper()
	_, err := rt.Start(t.Context(), id, adroit.StartOptions{})
	dirtest.Must(t, err)
	if j, err := rt.Wait(t.Context(), id); err != nil || j.Status != "done" {
		t.Fatalf("the job is %s (%s), %v", j.Status, j.Reason, err)
	}
}

// Whoever has the data open since before a removal was killed does not go on with the
// job, and can remove it.
func TestRemovingIsNotStarted(t *testing.T) {
	dir, data := field(t), t.TempDir()
	rt := open(t, treesOptions(dir, data))
	s, err := rt.Submit(t.Context(), adroit.Request{Target: "worker", Input: agents.Input{Prompt: put("new.txt", "new\n"), Approve: executor.ApproveAll}})
	dirtest.Must(t, err)
	dirtest.Write(t, filepath.Join(data, "removing", s.Job.ID+".json"), `{"job": {"id": "`+s.Job.ID+`"}}`)
	_, err = rt.Start(t.Context(), s.Job.ID, adroit.StartOptions{})
	if err == nil {
		_, err = rt.Wait(t.Context(), s.Job.ID)
	}
	if err == nil || !strings.Contains(err.Error(), "it is being removed") {
		t.Errorf("started: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "new.txt")); err == nil {
		t.Error("it ran")
	}
	_, err = rt.Remove(t.Context(), s.Job.ID, adroit.RemoveOptions{})
	dirtest.Must(t, err)
	if left, _ := filepath.Glob(filepath.Join(data, "removing*")); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
}

// change changes a database that nobody has open.
func change(t *testing.T, data, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(data, "adroit.db"))
	dirtest.Must(t, err)
	_, err = db.Exec(statement)
	dirtest.Must(t, err)
	dirtest.Must(t, db.Close())
}

// TestDatabaseGoesBack puts the database back to what it was after the first of a few
// commands. None is repeated, also if none behind it changed a file: the job stops, and says why. When it is resumed
// after that, the model learns that the command may have run, and the next that the journal has never seen stops it again.
func TestDatabaseGoesBack(t *testing.T) {
	for name, more := range map[string]string{"a file changed": sh("echo 3 >>log"), "no file changed": ""} {
		t.Run(name, func(t *testing.T) { testDatabaseGoesBack(t, more) })
	}
}

func testDatabaseGoesBack(t *testing.T, more string) {
	dir, data, elsewhere := field(t), t.TempDir(), filepath.Join(t.TempDir(), "log")
	o := treesOptions(dir, data)
	o.Workspace.Sandbox.Level = "off"
	kept := map[string][]byte{}
	o.Callbacks.Emit = func(ev event.Event) {
		if ev.Kind != event.StepFinished || ev.Name != "shell" || len(kept) > 0 {
			return
		}
		for _, name := range []string{"adroit.db", "adroit.db-wal"} {
			b, err := os.ReadFile(filepath.Join(data, name))
			if err != nil {
				t.Error(err)
			}
			kept[name] = b
		}
	}
	rt, err := adroit.Open(t.Context(), o)
	dirtest.Must(t, err)
	s, err := rt.Submit(t.Context(), adroit.Request{Target: "worker", Input: agents.Input{Prompt: sh("echo 1 >>log") + sh("echo 2 >>"+elsewhere) + more, Approve: executor.ApproveAll}})
	dirtest.Must(t, err)
	id := s.Job.ID
	_, err = rt.Start(t.Context(), id, adroit.StartOptions{})
	dirtest.Must(t, err)
	j, err := rt.Wait(t.Context(), id)
	if err != nil || j.Status != "done" {
		t.Fatalf("%+v, %v", j, err)
	}
	dirtest.Must(t, rt.Close())
	_ = os.Remove(filepath.Join(data, "adroit.db-shm"))
	for name, b := range kept {
		dirtest.Write(t, filepath.Join(data, name), string(b))
	}
	change(t, data, "update jobs set owner = '', status = 'interrupted'") // which is this process, and runs
	for i := range 2 {
		rt, err := adroit.Open(t.Context(), o)
		dirtest.Must(t, err)
		_, err = rt.Start(t.Context(), id, adroit.StartOptions{})
		dirtest.Must(t, err)
		j, err := rt.Wait(t.Context(), id)
		stops := i == 0 || more != ""
		if err != nil || (j.Status == "interrupted" && strings.Contains(j.Reason, "the database has gone back")) != stops || !stops && j.Status != "done" {
			t.Errorf("the job is %s: %s, %v", j.Status, j.Reason, err)
		}
		log := "1\n"
		if more != "" {
			log += "3\n"
		}
		for name, want := range map[string]string{filepath.Join(dir, "log"): log, elsewhere: "2\n"} { // the second changed no file of the workspace
			if b, err := os.ReadFile(name); string(b) != want {
				t.Errorf("the commands wrote %q, %v", b, err)
			}
		}
		dirtest.Must(t, rt.Close())
	}
}

// TestUnknownValues puts into the records of a job what a newer version may write: a value of
// an enumeration, a key, a criterion, a revision. The job stops with words wherever it is, and
// does nothing again; it can be shown and removed.
func TestUnknownValues(t *testing.T) {
	for name, c := range map[string]struct{ from, to, says string }{
		"role":      {`"role":"`, `"role":"chief `, `role is "chief `},
		"key":       {`"turns":`, `"held_back":1,"turns":`, `unknown field "held_back"`},
		"outcome":   {`"status":"done"`, `"status":"paused"`, `the status of its outcome is "paused"`},
		"taint":     {`"spent_ns":`, `"taint":["cursed"],"spent_ns":`, `unknown taint "cursed"`},
		"effect":    {`"effect":"`, `"effect":"un`, `effect is "un`},
		"criterion": {`"tools":`, `"done":{"sworn":"x"},"tools":`, `unknown field "sworn"`},
		"revision":  {`"revision":`, `"revision":9`, `its revision is "9`},
		"input":     {`"prompt":`, `"hush":1,"prompt":`, `unknown field "hush"`},
		"status":    {"", "", `its status is "paused"`},
		"step":      {"", "", `the kind of step 1.99 is "teleport"`}, // which the workflow does not ask for again
	} {
		t.Run(name, func(t *testing.T) {
			dir, data := field(t), t.TempDir()
			o := treesOptions(dir, data)
			rt, err := adroit.Open(t.Context(), o)
			dirtest.Must(t, err)
			s, err := rt.Submit(t.Context(), adroit.Request{Target: "worker", Input: agents.Input{Prompt: put("new.txt", "new\n"), Approve: executor.ApproveAll}})
			dirtest.Must(t, err)
			id := s.Job.ID
			_, err = rt.Start(t.Context(), id, adroit.StartOptions{})
			dirtest.Must(t, err)
			_, err = rt.Wait(t.Context(), id)
			dirtest.Must(t, err)
			dirtest.Must(t, rt.Close())
			dirtest.Must(t, os.Remove(filepath.Join(dir, "new.txt")))
			change(t, data, "update jobs set status = 'interrupted', finished = 0")
			if name == "status" {
				change(t, data, "update jobs set status = 'paused'")
			} else if name == "step" {
				change(t, data, "insert into steps (job, path, kind, name, sum, begun, deadline) select id, '1.99', 'teleport', 'x', '', 0, 0 from jobs")
			}
			for _, at := range []string{"checkpoints set value = %", "steps set output = %", "jobs set input = %"} {
				table, column := strings.Fields(at)[0], strings.Fields(at)[2]
				if c.from == "" {
					break
				}
				change(t, data, "update "+table+" set "+column+" = cast(replace(cast("+column+" as text), '"+c.from+"', '"+c.to+"') as blob) where "+column+" is not null")
			}
			rt = open(t, o)
			_, err = rt.Start(t.Context(), id, adroit.StartOptions{})
			said := ""
			if err == nil {
				j, err := rt.Wait(t.Context(), id)
				dirtest.Must(t, err)
				if said = j.Reason; j.Status != "blocked" {
					t.Errorf("the job is %s", j.Status)
				}
			} else {
				said = err.Error()
			}
			if !strings.Contains(said, c.says) || !strings.Contains(said, "a newer one wrote it") {
				t.Errorf("it says %q", said)
			}
			if _, err := os.Stat(filepath.Join(dir, "new.txt")); err == nil {
				t.Error("a finished step was repeated")
			}
			_, err = rt.Job(t.Context(), id)
			dirtest.Must(t, err)
			if name == "status" {
				why := new(adroit.Error)
				if _, err := rt.Remove(t.Context(), id, adroit.RemoveOptions{}); !errors.As(err, &why) || !strings.Contains(why.Message, c.says) || !strings.Contains(why.Hint, "jobs rm --force "+id) {
					t.Errorf("without force it is removed, or it is not said how: %v", err)
				}
			}
			_, err = rt.Remove(t.Context(), id, adroit.RemoveOptions{Force: true})
			dirtest.Must(t, err)
		})
	}
}
