// Package failurestest is one behaviour suite for every problem.Store.
package failurestest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/text/match"
)

var now = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// Store runs the suite. open gives an empty store and closes it with the test.
func Store(t *testing.T, open func(t testing.TB) problem.Store) {
	for name, f := range map[string]func(*testing.T, problem.Store){
		"Once": once, "Selects": selects, "Ranks": ranks, "Recalls": recalls, "Hostile": hostile, "Forgets": forgets, "Bounds": bounds, "Together": together,
	} {
		t.Run(name, func(t *testing.T) { f(t, open(t)) })
	}
}

func add(t testing.TB, s problem.Store, all ...problem.Failure) {
	t.Helper()
	for _, f := range all {
		if err := s.Add(context.Background(), f); err != nil {
			t.Fatal(err)
		}
	}
}

func keys(t testing.TB, s problem.Store, q problem.Query) (out []string) {
	t.Helper()
	found, err := s.Find(context.Background(), q)
	if err != nil {
		t.Fatalf("%+v: %v", q, err)
	}
	for _, f := range found {
		out = append(out, f.Key)
	}
	return out
}

func want(t testing.TB, s problem.Store, q problem.Query, all ...string) {
	t.Helper()
	if got := keys(t, s, q); !slices.Equal(got, all) {
		t.Errorf("%+v finds %v, want %v", q, got, all)
	}
}

// A failure is returned as it was added, and the same attempt is kept once.
func once(t *testing.T, s problem.Store) {
	f := problem.Failure{Key: "J1/1", Project: "/p", Signature: "s", Type: "build", Message: "it's \"wrong\"\n", Text: "undefined x", Outcome: problem.Works, Tokens: 7, Cost: 0.25, At: now,
		Action: problem.Action{Decision: "DELEGATE", By: "rule build", Agent: "code-fix", Summary: "done", Files: []string{"a.go"}, Fix: "--- a\n+++ b\n"}}
	add(t, s, f, f)
	again := f
	again.Outcome = problem.Same
	add(t, s, again)
	got, err := s.Find(context.Background(), problem.Query{})
	if err != nil || len(got) != 1 || fmt.Sprint(got[0]) != fmt.Sprint(f) {
		t.Errorf("kept %+v, want %+v (%v)", got, f, err)
	}
}

func selects(t *testing.T, s problem.Store) {
	for i, project := range []string{"/p", "/p", "/q"} {
		add(t, s, problem.Failure{Key: fmt.Sprintf("J%d/1", i), Project: project, Signature: fmt.Sprint("s", i%2), Text: "x", At: now.Add(time.Duration(i) * time.Hour)})
	}
	add(t, s, problem.Failure{Key: "J0/2", Project: "/p", Signature: "s0", At: now.Add(-time.Hour)})
	want(t, s, problem.Query{}, "J2/1", "J1/1", "J0/1", "J0/2")
	want(t, s, problem.Query{Project: "/p"}, "J1/1", "J0/1", "J0/2")
	want(t, s, problem.Query{Project: "/p", Signature: "s0"}, "J0/1", "J0/2")
	want(t, s, problem.Query{Signature: "s0", Limit: 1}, "J2/1")
	want(t, s, problem.Query{Skip: 1, Limit: 2}, "J1/1", "J0/1")
	want(t, s, problem.Query{Skip: 9})
	want(t, s, problem.Query{Before: now}, "J0/2")
	want(t, s, problem.Query{Key: "J0/"}, "J0/1", "J0/2")
	want(t, s, problem.Query{Key: "J0/2"}, "J0/2")
	want(t, s, problem.Query{Key: "J"})
	want(t, s, problem.Query{Project: "/none"})
}

func ranks(t *testing.T, s problem.Store) {
	for i, text := range []string{"undefined total in cart", "undefined price", "disk quota", "undefined total cart again and undefined total"} {
		add(t, s, problem.Failure{Key: fmt.Sprint("J", i), Project: "/p", Text: text, At: now})
	}
	words := match.Words("undefined: total (cart)")
	got := keys(t, s, problem.Query{Words: words})
	if len(got) != 3 || got[2] != "J1" || slices.Contains(got, "J2") {
		t.Errorf("found %v: J1 has one of the words, J2 none", got)
	}
	want(t, s, problem.Query{Words: words, Project: "/q"})
	if got := keys(t, s, problem.Query{Words: words, Limit: 1}); len(got) != 1 {
		t.Errorf("found %v, want one", got)
	}
}

// At most three similar failures are returned, none of the same job; those whose action helped and
// new ones come first, and those that share few words are left out.
func recalls(t *testing.T, s problem.Store) {
	text := "undefined total in cart while building the shop"
	keep := func(key, signature, text, outcome, agent string, age time.Duration) {
		add(t, s, problem.Failure{Key: key, Project: "/p", Signature: signature, Text: text, Outcome: outcome, Action: problem.Action{Agent: agent}, At: now.Add(-age)})
	}
	day := 24 * time.Hour
	keep("J1/1", "same", text, problem.Works, "a", 3*day)
	keep("J2/1", "same", text, problem.Same, "b", day)
	keep("J3/1", "old", text+" old", problem.Works, "a", 150*day)
	keep("J4/1", "new", text+" new", problem.Works, "a", day)
	keep("J5/1", "bad", text+" bad", problem.Same, "a", day)
	keep("J6/1", "far", "undefined behaviour of an entirely other kind with many more words", problem.Works, "a", day)
	keep("J7/1", "fine", text+" fine", problem.Works, "a", 20*day)
	keep("J8/1", "mine", text+" mine", problem.Works, "a", 0)
	keep("J9/1", "new", text+" new", problem.Works, "a", 2*day) // says the same as J4/1
	same, similar, err := problem.Recall(context.Background(), s, problem.Question{Project: "/p", Signature: "same", Text: text, Now: now, Job: "J8"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range slices.Concat(same, similar) {
		got = append(got, f.Key)
	}
	if want := []string{"J2/1", "J1/1", "J4/1", "J7/1", "J5/1"}; !slices.Equal(got, want) {
		t.Errorf("recalled %v, want %v", got, want)
	}
	if same, similar, err := problem.Recall(context.Background(), s, problem.Question{Project: "/q", Signature: "same", Text: text, Now: now}); len(same)+len(similar) > 0 || err != nil {
		t.Errorf("another project recalls %v and %v (%v)", same, similar, err)
	}
	if same, _, err := problem.Recall(context.Background(), s, problem.Question{Signature: "same", Now: now}); len(same) != 2 || err != nil {
		t.Errorf("all of the user's: %v (%v)", same, err)
	}
}

// No text is an operator of the query.
func hostile(t *testing.T, s problem.Store) {
	for i, text := range []string{`" OR failures_text MATCH "x`, `NEAR(a b) AND NOT c*`, "text : x ^y", "'; drop table failures; --", "", "-", "\x00", "日本語 エラー", "ΑΒΓ ünïcode"} {
		add(t, s, problem.Failure{Key: fmt.Sprint("J", i), Project: text, Signature: text, Text: text, At: now})
		if words := match.Words(text); len(words) > 0 {
			if got := keys(t, s, problem.Query{Words: words, Project: text}); len(got) != 1 {
				t.Errorf("%q finds %v", text, got)
			}
		}
	}
}

func forgets(t *testing.T, s problem.Store) {
	for i := range 6 {
		add(t, s, problem.Failure{Key: fmt.Sprintf("J%d/1", i), Project: fmt.Sprint("/p", i%2), Signature: fmt.Sprint(i % 3), Text: "words of it", At: now.Add(time.Duration(i) * time.Hour)})
	}
	forget := func(q problem.Query, want int) {
		t.Helper()
		if n, err := s.Forget(context.Background(), q); n != want || err != nil {
			t.Errorf("forgot %d of %+v, want %d (%v)", n, q, want, err)
		}
	}
	forget(problem.Query{Key: "J5/"}, 1)
	forget(problem.Query{Project: "/p0", Signature: "1"}, 1)
	forget(problem.Query{Before: now.Add(time.Hour)}, 1)
	want(t, s, problem.Query{}, "J3/1", "J2/1", "J1/1")
	want(t, s, problem.Query{Words: []string{"words"}, Project: "/p1"}, "J3/1", "J1/1")
	forget(problem.Query{Project: "/p1"}, 2)
	forget(problem.Query{}, 1)
	want(t, s, problem.Query{Words: []string{"words"}})
}

// Failures that are too old are removed, and so are the oldest of a project that has too many.
func bounds(t *testing.T, s problem.Store) {
	ctx := context.Background()
	var all sync.WaitGroup // at once, so that they share commits
	for i := range problem.Most {
		all.Go(func() {
			if err := s.Add(ctx, problem.Failure{Key: fmt.Sprintf("J%d/1", i), Project: "/p", At: now.Add(time.Duration(i) * time.Second)}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	add(t, s, problem.Failure{Key: "Q/1", Project: "/q", At: now.Add(-problem.Retention)}, problem.Failure{Key: "Q/2", Project: "/q", At: now})
	if err := problem.Remember(ctx, s, problem.Failure{Key: "K/1", Project: "/p", At: now.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if got := keys(t, s, problem.Query{Project: "/p"}); len(got) != problem.Most || got[0] != "K/1" || slices.Contains(got, "J0/1") {
		t.Errorf("%d are kept, from %s to %s", len(got), got[0], got[len(got)-1])
	}
	want(t, s, problem.Query{Project: "/q"}, "Q/2")
}

func together(t *testing.T, s problem.Store) {
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for k := range 10 {
				f := problem.Failure{Key: fmt.Sprintf("J%d/1", k), Project: "/p", Text: fmt.Sprint("by ", i), At: now}
				if err := s.Add(context.Background(), f); err != nil {
					t.Error(err)
				}
				if _, err := s.Find(context.Background(), problem.Query{Words: []string{"by"}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if got := keys(t, s, problem.Query{}); len(got) != 10 {
		t.Errorf("%d are kept, want 10", len(got))
	}
}
