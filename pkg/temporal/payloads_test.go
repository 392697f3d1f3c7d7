package temporal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/pkg/adroit"
	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/flow/flowtest"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// history is all that Temporal has of a workflow, as JSON.
func history(t *testing.T, c client.Client, id string) string {
	t.Helper()
	var b strings.Builder
	for all := c.GetWorkflowHistory(t.Context(), id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); all.HasNext(); {
		ev, err := all.Next()
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString(protojson.Format(ev))
	}
	return b.String()
}

// TestStore has a step with a result of 12 MB: with a store it is done and the history stays small,
// without one it fails with the reason.
func TestStore(t *testing.T) {
	const size = 12 << 20
	r := served(t)
	big := flow.Workflow{Name: "big", Run: func(run *flow.Run, _ json.RawMessage) (json.RawMessage, error) {
		out, err := flow.Do[string](run, "grow", "grow", 1)
		return json.RawMessage(fmt.Sprint(len(out))), err
	}}
	q := flowtest.Request{Ctx: t.Context(), Job: "J00000000000BG", Workflow: big, Mux: flow.Mux{"grow": {Handler: func(context.Context, flow.Step, event.Sink) (json.RawMessage, error) {
		return json.Marshal(strings.Repeat("x", size))
	}}}}
	perform := func(store string) (string, error, *Cluster) {
		at := r.at
		at.Store = store
		var all *Cluster
		until(t, func() (err error) { all, err = Dial(t.Context(), at); return err })
		t.Cleanup(func() { all.Close() })
		w := host(t, q, fmt.Sprint("host-", time.Now().UnixNano()))
		w.o.Queue = w.o.Host + "-shared"
		if store != "" {
			w.o.Most = mostStored
		}
		w.on(all.c)
		if err := w.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(w.Stop)
		run, err := all.c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: w.o.Host, TaskQueue: w.o.Queue}, "job", w.carry(q, nil, 0))
		if err != nil {
			t.Fatal(err)
		}
		var out json.RawMessage
		err = run.Get(t.Context(), &out)
		return w.o.Host, errors.Join(err, json.Unmarshal(out, new(int))), all
	}
	if _, err, _ := perform(""); err == nil || !strings.Contains(err.Error(), "temporal.store names a directory") {
		t.Errorf("without a store: %v", err)
	}
	dir := t.TempDir()
	id, err, with := perform(dir)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(history(t, with.c, id)); n > 64<<10 {
		t.Errorf("the history has %d bytes", n)
	}

	// A payload that is not there is named, and so is one that was changed.
	var stored string
	err = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			stored = p
		}
		return err
	})
	if err != nil || stored == "" {
		t.Fatalf("nothing is stored: %v", err)
	}
	name, _ := filepath.Rel(dir, stored)
	if err := os.Chmod(stored, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(stored, 100); err != nil {
		t.Fatal(err)
	}
	if _, err := with.store.get(name); err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("a payload that was cut: %v", err)
	}
	if err := os.Remove(stored); err != nil {
		t.Fatal(err)
	}
	if _, err := with.store.get(name); err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), dir) {
		t.Errorf("a payload that is not there: %v", err)
	}
	for _, name := range []string{"../../x", "a/../b", "a/b/c/d", "a//b"} {
		if _, err := with.store.get(name); err == nil || !strings.Contains(err.Error(), "no name of a stored one") {
			t.Errorf("%q: %v", name, err)
		}
	}

	// What Temporal has forgotten is swept, what is new or known stays.
	for _, job := range []string{id, "gone", "new"} {
		if err := with.store.put(with.store.namespace+"/"+job+"/aa", []byte("x")); err != nil {
			t.Fatal(err)
		}
		if old := time.Now().Add(-2 * sweepAge); job != "new" {
			err = errors.Join(err, filepath.WalkDir(filepath.Join(dir, with.store.namespace, job), func(p string, _ fs.DirEntry, e error) error {
				return errors.Join(e, os.Chtimes(p, old, old))
			}))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	n, err := with.sweep(t.Context())
	left, _ := os.ReadDir(filepath.Join(dir, with.store.namespace))
	if err != nil || n != 1 || len(left) != 2 {
		t.Errorf("sweep: %d, %v; left are %v", n, err, left)
	}
}

// TestEncryption looks for what a job is about in all that the server keeps, while the key is
// exchanged in its middle, and starts a worker without the key.
func TestEncryption(t *testing.T) {
	r := served(t)
	r.at.KeyFile = r.file("keys")
	first, err := AddKey(r.at.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	const secret = "marzipan"
	r.with("calls: [{name: push, args: {n: 1, delay: 1ms, note: "+secret+"}}]", "calls: [{name: work, args: {n: 2, note: "+secret+"}}]", "text: The "+secret+" is done.")
	q := adroit.Request{Target: "worker"}
	q.Prompt, q.Dir, q.Approve = "Take the "+secret+".", r.file("workspace"), executor.ApproveEdits
	s, err := r.Submit(t.Context(), q)
	if err == nil {
		_, err = r.Start(t.Context(), s.Job.ID, adroit.StartOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	id := s.Job.ID
	r.ended(id, jobs.Waiting)
	if d, err := r.Job(t.Context(), id); err != nil || !strings.Contains(fmt.Sprintf("%s", d.Questions[0].About), secret) {
		t.Fatalf("the question is not about it: %v", err)
	}

	second, err := AddKey(r.at.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	both, err := os.ReadFile(r.at.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(1100 * time.Millisecond) // the age from which a file of keys is looked at again

	// With the second key alone, which reads nothing of before, a worker does not start; and one that
	// loses the first one does no harm: the job waits for it, and shows why.
	r.kill(r.worker)
	_, only, _ := bytes.Cut(both, []byte("\n"))
	if err := os.WriteFile(r.at.KeyFile, only, 0o600); err != nil {
		t.Fatal(err)
	}
	lacking, err := Dial(t.Context(), r.at)
	if err != nil {
		t.Fatal(err)
	}
	defer lacking.Close()
	if err := lacking.readable(t.Context()); err == nil || !strings.Contains(err.Error(), first) {
		t.Errorf("a worker without the key: %v", err)
	}
	m := &jobs.Manager{Store: new(jobs.Memory)}
	c, err := client.NewClientFromExisting(lacking.c, lacking.options(true))
	if err != nil {
		t.Fatal(err)
	}
	build, err := thisBuild() // to which the job is pinned
	if err != nil {
		t.Fatal(err)
	}
	w := (&Worker{o: Options{Host: "lacking", Build: build}, store: m.Store}).on(c)
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	if err := r.cluster.Signal(t.Context(), id, flow.Signal{Name: "adroit.nothing"}); err != nil {
		t.Fatal(err)
	}
	var j *jobs.Job
	until(t, func() (err error) {
		if j, err = r.Wait(t.Context(), id); err == nil && !strings.Contains(j.Reason, first) {
			err = fmt.Errorf("it is %s: %s", j.Status, j.Reason)
		}
		return err
	})
	if j.Status != jobs.Blocked {
		t.Errorf("a job that cannot be read is %s: %s", j.Status, j.Reason)
	}
	soon, stop := context.WithTimeout(t.Context(), 2*time.Second)
	defer stop()
	if err := r.cluster.update(soon, id, startName, 0); err == nil || !strings.Contains(err.Error(), first) || problem.Hint(err) == "" {
		t.Errorf("what no worker takes: %v", err)
	}
	w.Stop()
	if err := os.WriteFile(r.at.KeyFile, both, 0o600); err != nil {
		t.Fatal(err)
	}
	r.work()
	r.ended(id, jobs.Waiting)
	d, err := r.Job(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range d.Questions[0].Signals {
		if strings.HasPrefix(name, "approve") {
			if _, err := r.Signal(t.Context(), id, adroit.Signal{Name: name}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if j := r.ended(id, jobs.Done); !strings.Contains(string(j.Output), secret) {
		t.Errorf("the output is %s", j.Output)
	}
	if got := r.effects(); got["end 1"] != 1 || got["end 2"] != 1 {
		t.Errorf("effects are %v", got)
	}

	other := r.at
	other.KeyFile = r.file("other")
	if _, err := AddKey(other.KeyFile); err != nil {
		t.Fatal(err)
	}
	stranger, err := Dial(t.Context(), other)
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	if _, err := stranger.Client().Jobs(t.Context(), adroit.ListOptions{}); err == nil || !strings.Contains(err.Error(), "no worker can go on with it") || problem.Hint(err) == "" {
		t.Errorf("a client with another key: %v", err)
	}

	raw := history(t, r.cluster.c, id)
	r.kill(r.worker)
	if list, err := r.Jobs(t.Context(), adroit.ListOptions{}); err != nil || len(list) != 1 || !strings.Contains(list[0].Title, secret) || list[0].Dir != q.Dir {
		t.Errorf("while its host is away it is %+v, %v", list, err)
	}
	r.kill(r.server)
	files, err := filepath.Glob(r.file("temporal.db*"))
	if err != nil || len(files) == 0 {
		t.Fatal("the server has no database")
	}
	kept := []byte(nil)
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, b...)
	}
	for _, key := range []string{first, second} {
		if !bytes.Contains(kept, []byte(key)) {
			t.Errorf("nothing in the database is encrypted with %s", key)
		}
	}
	kept = append(kept, raw...)
	if i := bytes.Index(kept, []byte(secret)); i >= 0 {
		t.Errorf("the server has %q", kept[max(0, i-100):min(len(kept), i+100)])
	}
	r.serve()
}
