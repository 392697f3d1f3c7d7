package sqlite

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
)

func TestAddOnce(t *testing.T) {
	d := fresh(t)
	var wg sync.WaitGroup
	ids := make([]string, 20)
	for i := range ids {
		wg.Go(func() {
			j, err := d.Add(t.Context(), &jobs.Job{ID: fmt.Sprint("J", i), Key: "order-7"})
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = j.ID
		})
	}
	wg.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Fatalf("one key gave several jobs: %v", ids)
		}
	}
	if all, err := d.List(t.Context(), jobs.Query{}); err != nil || len(all) != 1 {
		t.Errorf("%d jobs, %v", len(all), err)
	}
	if _, err := d.Add(t.Context(), &jobs.Job{ID: ids[0]}); err == nil {
		t.Error("a second job with the same id was added")
	}
}

// TestSpoiled has good and bad writes share commits: each gets its own answer.
func TestSpoiled(t *testing.T) {
	d := fresh(t)
	add(t, d, "J")
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			job, want := "J", error(nil)
			if i%3 == 0 {
				job, want = "nobody", jobs.ErrNotExist
			}
			// Two events: the first of a bad pair must not stay either.
			err := d.appendEvents(t.Context(), event.Event{Job: "J", Kind: event.Note}, event.Event{Job: job, Kind: event.Note})
			if !errors.Is(err, want) {
				t.Errorf("append: %v, want %v", err, want)
			}
		})
	}
	wg.Wait()
	n := int64(0)
	for ev, err := range d.Events(t.Context(), "J", 0, false) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; ev.Seq != n {
			t.Fatalf("event %d is numbered %d", n, ev.Seq)
		}
	}
	if n != 2*133 {
		t.Errorf("%d events, want 266", n)
	}
}

// TestFollow follows a job through this handle and through that of another
// process, from the start and from the middle.
func TestFollow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	d, other := open(t, path, Options{}), open(t, path, Options{})
	add(t, d, "J")
	var wg sync.WaitGroup
	for _, from := range []*DB{d, other} {
		for _, after := range []int64{0, 100} {
			wg.Go(func() {
				next := after + 1
				for ev, err := range from.Events(t.Context(), "J", after, true) {
					if err != nil {
						t.Error(err)
						return
					}
					if ev.Seq != next {
						t.Errorf("after %d came %d", next-1, ev.Seq)
					}
					next++
				}
				if next != 602 {
					t.Errorf("saw events up to %d, want 601", next-1)
				}
			})
		}
	}
	j := claim(t, d, "J")
	for i := range 600 {
		if err := d.appendEvents(t.Context(), event.Event{Job: "J", Kind: event.Note, Text: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	j.Status = jobs.Waiting
	if err := d.Journal(j.ID, j.Lease.Token).FinishJob(t.Context(), j, &event.Event{Kind: event.JobWaiting}); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	ctx, stop := context.WithCancelCause(t.Context())
	stop(jobs.ErrStopped)
	for _, err := range d.Events(ctx, "J", 0, true) {
		if err == nil {
			t.Error("events went on after the context had ended")
		}
	}
}

func TestBlobsBelongToJobs(t *testing.T) {
	d := fresh(t)
	ctx := t.Context()
	big := json.RawMessage(`"` + strings.Repeat("x", inline+1) + `"`)
	kept := json.RawMessage(`"transcript"`)
	var j jobs.Journal
	for _, id := range []string{"A", "B"} {
		add(t, d, id)
		j = d.Journal(id, claim(t, d, id).Lease.Token)
		if _, err := j.Begin(ctx, flow.Step{Job: id, Path: "0", Kind: "k", Input: kept, Keep: true}, time.Time{}); err != nil {
			t.Fatal(err)
		}
		if err := j.Finish(ctx, &flow.Record{Job: id, Path: "0", Kind: "k", Output: big}); err != nil {
			t.Fatal(err)
		}
	}
	have := func(when, id string, b json.RawMessage, want bool) {
		t.Helper()
		_, err := j.Blob(ctx, flow.Digest(b))
		if (err == nil) != want || err != nil && !errors.Is(err, flow.ErrNoBlob) {
			t.Errorf("%s: blob %s: %v, want it there: %v", when, id, err, want)
		}
	}
	rec, err := j.Begin(ctx, flow.Step{Job: "B", Path: "0", Kind: "k", Input: kept}, time.Time{})
	if err != nil || !bytes.Equal(rec.Output, big) {
		t.Fatalf("a big output came back as %d bytes, %v", len(rec.Output), err)
	}
	if err := errors.Join(j.Save(ctx, "B", "", flow.State{Next: 1}), j.Sync(ctx)); err != nil {
		t.Fatal(err)
	}
	have("A still has the output", "big", big, true)
	have("B keeps its input", "kept", kept, true)
	if err := d.Remove(ctx, "A"); !errors.Is(err, jobs.ErrRunning) {
		t.Fatalf("removing a held job: %v", err)
	}
	a, err := jobs.Find(ctx, d, "A")
	if err != nil {
		t.Fatal(err)
	}
	token := a.Lease.Token
	a.Status = jobs.Done
	if err := errors.Join(d.Journal(a.ID, token).FinishJob(ctx, a, nil), d.Remove(ctx, "A")); err != nil {
		t.Fatal(err)
	}
	have("nobody has the output", "big", big, false)
	have("B keeps its input after A is gone", "kept", kept, true)
	// The one case left: a checkpoint that is the last to need an output.
	if err := j.Finish(ctx, &flow.Record{Job: "B", Path: "1", Kind: "k", Output: big}); err != nil {
		t.Fatal(err)
	}
	have("B has the output", "big", big, true)
	if err := errors.Join(j.Save(ctx, "B", "", flow.State{Next: 2}), j.Sync(ctx)); err != nil {
		t.Fatal(err)
	}
	have("B saved", "big", big, false)
}

func TestSaveKeepsOtherScopes(t *testing.T) {
	d := fresh(t)
	add(t, d, "J")
	j := d.Journal("J", claim(t, d, "J").Lease.Token)
	for _, path := range []string{"2", "2.0", "2.10.3", "20", "20.1", "3"} {
		if err := j.Finish(t.Context(), &flow.Record{Job: "J", Path: path}); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Save(t.Context(), "J", "2.", flow.State{}); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{"2": true, "2.0": false, "2.10.3": false, "20": true, "20.1": true, "3": true} {
		rec, err := j.Begin(t.Context(), flow.Step{Job: "J", Path: path}, time.Time{})
		if err != nil || (rec != nil) != want {
			t.Errorf("step %s after the checkpoint: %v, %v; want it known: %v", path, rec, err, want)
		}
	}
}

func TestPending(t *testing.T) {
	d := fresh(t)
	add(t, d, "J")
	token := claim(t, d, "J").Lease.Token
	e := flow.NewLocal(t.Context(), d.Journal("J", token), nil, nil)
	e.Park = true
	r := flow.NewRun("J", e)
	_, err := flow.Map(r, []string{"a", "b"}, func(r *flow.Run, name string) (flow.Signal, error) {
		return flow.AwaitAny(r, map[string]string{"ask": name}, 0, name, "abort")
	})
	if _, ok := errors.AsType[*flow.ParkedError](err); !ok {
		t.Fatal(err)
	}
	show := func() (s string) {
		j, err := jobs.Find(t.Context(), d, "J")
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range j.Questions {
			s += fmt.Sprint(q.Path, q.Signals, string(q.About), q.Asked.IsZero(), ";")
		}
		return s
	}
	if got, want := show(), `0.0.0[a abort]{"ask":"a"}false;0.1.0[b abort]{"ask":"b"}false;`; got != want {
		t.Errorf("pending %s, want %s", got, want)
	}
	if err := d.Send(t.Context(), "J", flow.Signal{Name: "a"}); err != nil {
		t.Fatal(err)
	}
	if got, want := show(), `0.1.0[b abort]{"ask":"b"}false;`; got != want {
		t.Errorf("pending after an answer %s, want %s", got, want)
	}
}

func TestCancel(t *testing.T) {
	d := fresh(t)
	ctx := t.Context()
	add(t, d, "queued")
	add(t, d, "running")
	j := claim(t, d, "running")
	for _, id := range []string{"queued", "running"} {
		if err := d.Cancel(ctx, id, nil); err != nil {
			t.Fatal(err)
		}
	}
	if q, err := jobs.Find(ctx, d, "queued"); err != nil || q.Status != jobs.Cancelled || q.Finished.IsZero() {
		t.Errorf("queued: %+v, %v", q, err)
	}
	last := event.Event{}
	for ev := range d.Events(ctx, "queued", 0, true) {
		last = ev
	}
	if last.Kind != event.JobFinished {
		t.Errorf("last event of a job cancelled in the queue: %+v", last)
	}
	if err := d.Cancel(ctx, "queued", nil); !errors.Is(err, jobs.ErrFinal) {
		t.Errorf("cancelling again: %v", err)
	}
	if cancel, err := d.Journal("running", j.Lease.Token).Heartbeat(ctx, ttl); err != nil || !cancel {
		t.Errorf("beat: %v, %v", cancel, err)
	}
	if err := d.Reopen(ctx, "running", flow.Reopener{}); !errors.Is(err, jobs.ErrRunning) {
		t.Errorf("reopening a held job: %v", err)
	}
	if err := d.Reopen(ctx, "queued", flow.Reopener{}); err != nil {
		t.Fatal(err)
	}
	if again := claim(t, d, "queued"); again.Cancel {
		t.Error("a reopened job still wants to be cancelled")
	}
}

func TestList(t *testing.T) {
	d := fresh(t)
	for i, id := range []string{"A1", "A2", "B1"} {
		if _, err := d.Add(t.Context(), &jobs.Job{ID: id, Agent: []string{"x", "y"}[i%2]}); err != nil {
			t.Fatal(err)
		}
	}
	claim(t, d, "A2")
	for _, c := range []struct {
		q    jobs.Query
		want string
	}{
		{jobs.Query{}, "B1 A2 A1"},
		{jobs.Query{Limit: 2}, "B1 A2"},
		{jobs.Query{Prefix: "A"}, "A2 A1"},
		{jobs.Query{Agent: "x"}, "B1 A1"},
		{jobs.Query{Status: []jobs.Status{jobs.Queued, jobs.Interrupted}}, "B1 A1"},
		{jobs.Query{Status: []jobs.Status{jobs.Running}}, "A2"},
	} {
		all, err := d.List(t.Context(), c.q)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, j := range all {
			ids = append(ids, j.ID)
		}
		if got := strings.Join(ids, " "); got != c.want {
			t.Errorf("%+v: %s, want %s", c.q, got, c.want)
		}
	}
}

// TestTwoRunners has two handles of one file run 200 jobs with two workers
// each, all after the same jobs.
func TestTwoRunners(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	handles := []*DB{open(t, path, Options{}), open(t, path, Options{})}
	for i := range 200 {
		add(t, handles[0], fmt.Sprintf("J%03d", i))
	}
	var mu sync.Mutex
	ran := map[string]int{}
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			d := handles[w%2]
			for i := range 200 {
				id := fmt.Sprintf("J%03d", i)
				j, _, err := d.Claim(t.Context(), id, fmt.Sprint("runner", w), ttl)
				if errors.Is(err, jobs.ErrHeld) || errors.Is(err, jobs.ErrFinal) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				e := flow.NewLocal(t.Context(), d.Journal(id, j.Lease.Token), flow.Mux{"count": {Handler: func(context.Context, flow.Step, event.Sink) (json.RawMessage, error) {
					mu.Lock()
					defer mu.Unlock()
					ran[id]++
					return json.RawMessage("1"), nil
				}}}, nil)
				if _, err := flow.Do[int](flow.NewRun(id, e), "count", "", nil); err != nil {
					t.Error(err)
				}
				j.Status = jobs.Done
				if err := d.Journal(j.ID, j.Lease.Token).FinishJob(t.Context(), j, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if len(ran) != 200 {
		t.Errorf("%d jobs ran, want 200", len(ran))
	}
	for id, n := range ran {
		if n != 1 {
			t.Errorf("%s ran %d times", id, n)
		}
	}
}

// TestBackup copies the file while it is written, and works with the copy.
func TestBackup(t *testing.T) {
	d := fresh(t)
	add(t, d, "J")
	j := claim(t, d, "J")
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	under := make(chan struct{}, 4)
	for range 4 {
		wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				if i == 50 {
					under <- struct{}{}
				}
				_ = d.appendEvents(ctx, event.Event{Job: "J", Kind: event.Note, Text: strings.Repeat("x", 500)})
			}
		})
	}
	<-under
	copied := filepath.Join(t.TempDir(), "copy.db")
	err := d.Backup(t.Context(), copied)
	stop()
	wg.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Backup(t.Context(), copied); err == nil {
		t.Error("a backup replaced a file")
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(d.path + "-wal"); err == nil && st.Size() > 0 {
		t.Errorf("closing left a log of %d bytes", st.Size())
	}
	b := open(t, copied, Options{Check: true})
	n := int64(0)
	for ev, err := range b.Events(t.Context(), "J", 0, false) {
		if n++; err != nil || ev.Seq != n {
			t.Fatalf("event %d of the copy: %+v, %v", n, ev, err)
		}
	}
	if n < 50 {
		t.Errorf("the copy has %d events, want 50 at least", n)
	}
	if _, err := b.Journal("J", j.Lease.Token).Heartbeat(t.Context(), ttl); err != nil {
		t.Errorf("the job does not go on in the copy: %v", err)
	}
}

func TestListBrief(t *testing.T) {
	d := fresh(t)
	for i, end := range []jobs.Status{jobs.Done, jobs.Limit} {
		id := fmt.Sprint("J", i)
		if _, err := d.Add(t.Context(), &jobs.Job{ID: id, Workflow: "w", Input: json.RawMessage(`1`)}); err != nil {
			t.Fatal(err)
		}
		j := claim(t, d, id)
		j.Status, j.Output = end, json.RawMessage(`2`)
		if err := d.Journal(id, j.Lease.Token).FinishJob(t.Context(), j, nil); err != nil {
			t.Fatal(err)
		}
	}
	list, err := d.List(t.Context(), jobs.Query{Brief: true})
	if err != nil || len(list) != 2 {
		t.Fatalf("%d jobs, %v", len(list), err)
	}
	if limited := list[0]; limited.ID != "J1" || limited.Input != nil || string(limited.Output) != "2" {
		t.Errorf("stopped by a limit: %+v", limited)
	}
	if done := list[1]; done.ID != "J0" || done.Input != nil || done.Output != nil {
		t.Errorf("done: %+v", done)
	}
}

// TestFolded has the database without its write-ahead log know how a job ended: after
// the end of a job, the log is folded into it.
func TestFolded(t *testing.T) {
	d := fresh(t)
	add(t, d, "J")
	j := claim(t, d, "J")
	j.Status = jobs.Waiting
	if err := d.Journal("J", j.Lease.Token).FinishJob(t.Context(), j, nil); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for n := 0; ; n++ {
		b, err := os.ReadFile(d.path)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, fmt.Sprint(n), "a.db")
		if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o700), os.WriteFile(path, b, 0o600)); err != nil {
			t.Fatal(err)
		}
		c := open(t, path, Options{})
		if got, err := c.List(t.Context(), jobs.Query{ID: "J"}); err == nil && len(got) == 1 && got[0].Status == jobs.Waiting {
			return
		}
		if n == 600 {
			t.Fatal("the log was not folded into the database")
		}
		time.Sleep(100 * time.Millisecond) // it is folded after the answer
	}
}
