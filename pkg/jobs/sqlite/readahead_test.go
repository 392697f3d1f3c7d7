package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/event"
	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// TestReplayReadsAhead replays a run with long scopes, branches, failures and
// an output too big for its row, while another process holds the write lock:
// recalling needs none. What is held in memory is bounded.
func TestReplayReadsAhead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	d := open(t, path, Options{})
	add(t, d, "J1")
	token := claim(t, d, "J1").Lease.Token
	big := strings.Repeat("b", inline+1)
	mux := flow.Mux{"do": {Safe: flow.Always, Handler: func(_ context.Context, s flow.Step, _ event.Sink) (json.RawMessage, error) {
		switch s.Name {
		case "big":
			return json.Marshal(big)
		case "bad":
			return nil, &flow.Failure{Code: "bad", Message: "no"}
		}
		return json.Marshal(s.Path)
	}}}
	most := 0
	run := func(mux flow.Mux) (string, *journal) {
		j := d.Journal("J1", token).(*journal)
		e := flow.NewLocal(t.Context(), j, mux, nil)
		e.Hook = func(point string, _ flow.Step) {
			if point == "begun" {
				j.ahead.mu.Lock()
				most = max(most, len(j.ahead.read))
				j.ahead.mu.Unlock()
			}
		}
		r := flow.NewRun("J1", e)
		var out []string
		do := func(r *flow.Run, name string) string {
			v, err := flow.Do[string](r, "do", name, nil)
			return fmt.Sprintf("%s %d %v", name, len(v), err)
		}
		for i := range 200 {
			out = append(out, do(r, fmt.Sprint(i)))
		}
		outs, err := flow.Map(r, make([]int, 5), func(r *flow.Run, _ int) (string, error) {
			return flow.Call(r, "part", func(r *flow.Run, _ int) (string, error) { return do(r, "bad") + do(r, "big"), nil }, 0)
		})
		if err != nil || e.Ended() != nil {
			t.Fatal(err, e.Ended())
		}
		return fmt.Sprint(out, outs, do(r, "last")), j
	}
	want, first := run(mux)
	if first.ahead.left != 0 || most != 0 {
		t.Errorf("of a new run %d steps are left and %d were read ahead", first.ahead.left, most)
	}

	other, err := sql.Open("sqlite", dsn(path, ""))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	other.SetMaxOpenConns(1)
	if _, err := other.Exec("begin immediate"); err != nil {
		t.Fatal(err)
	}
	got, j := run(nil)
	if _, err := other.Exec("rollback"); err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("replayed: %s\nwant %s", got, want)
	}
	if j.ahead.left != 0 || len(j.ahead.read) != 0 {
		t.Errorf("after the replay %d steps are left to ask for, %d are held", j.ahead.left, len(j.ahead.read))
	}
	if most == 0 || most > maxAhead {
		t.Errorf("%d steps were held at once, want some and at most %d", most, maxAhead)
	}
}

// TestAheadOfLostLease loses the lease in the midst of a replay: what was read
// ahead is recalled if it is done. What is not done, or was not read, is refused:
// whoever took over performs it.
func TestAheadOfLostLease(t *testing.T) {
	h := &hands{wall: time.Now(), boot: "b1", gone: map[string]bool{}}
	d := open(t, filepath.Join(t.TempDir(), "a.db"), Options{clock: h.clock()})
	add(t, d, "J1")
	j := d.Journal("J1", claim(t, d, "J1").Lease.Token)
	step := func(n int) flow.Step { return flow.Step{Job: "J1", Path: fmt.Sprint(n), Kind: "do"} }
	for n := range 8 {
		if n == 3 { // begun and no more
			if _, err := j.Begin(t.Context(), step(n), time.Time{}); err != nil {
				t.Fatal(err)
			}
			continue
		}
		rec := &flow.Record{Job: "J1", Path: fmt.Sprint(n), Kind: "do", Sum: step(n).Sum(), Done: true, Output: json.RawMessage("1")}
		if err := j.Finish(t.Context(), rec); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 8 {
		if n == 1 {
			h.up += 2 * ttl
			if _, _, err := d.Claim(t.Context(), "J1", "second", ttl); err != nil {
				t.Fatal(err)
			}
		}
		rec, err := j.Begin(t.Context(), step(n), time.Time{})
		if n < 3 && (err != nil || rec == nil || !rec.Done) {
			t.Errorf("step %d, read ahead: %+v, %v", n, rec, err)
		}
		if n >= 3 && !errors.Is(err, jobs.ErrLeaseLost) {
			t.Errorf("step %d: %+v, %v, want that the lease is lost", n, rec, err)
		}
	}
}

// TestAheadOfCheckpoint has steps read ahead that a checkpoint forgets: they
// are new when they are asked for again.
func TestAheadOfCheckpoint(t *testing.T) {
	d := fresh(t)
	add(t, d, "J1")
	token := claim(t, d, "J1").Lease.Token
	step := func(n int) flow.Step { return flow.Step{Job: "J1", Path: fmt.Sprint(n), Kind: "do"} }
	j := d.Journal("J1", token)
	for n := range 4 {
		if _, err := j.Begin(t.Context(), step(n), time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	j = d.Journal("J1", token)
	if rec, err := j.Begin(t.Context(), step(0), time.Time{}); err != nil || rec == nil || rec.Done {
		t.Fatalf("begun before: %+v, %v", rec, err)
	}
	if err := j.Save(t.Context(), "J1", "", flow.State{Next: 1, Value: json.RawMessage("1")}); err != nil {
		t.Fatal(err)
	}
	if rec, err := j.Begin(t.Context(), step(1), time.Time{}); err != nil || rec != nil {
		t.Errorf("after the checkpoint: %+v, %v", rec, err)
	}
}
