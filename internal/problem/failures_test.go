package problem_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/adroit-run/adroit/internal/problem"
	"github.com/adroit-run/adroit/internal/problem/failurestest"
	"github.com/adroit-run/adroit/pkg/jobs/sqlite"
)

func TestMemory(t *testing.T) {
	failurestest.Store(t, func(testing.TB) problem.Store { return new(problem.Memory) })
}

func TestDatabase(t *testing.T) {
	failurestest.Store(t, func(t testing.TB) problem.Store {
		return problem.In(open(t, filepath.Join(t.TempDir(), "adroit.db")))
	})
}

func open(t testing.TB, path string) *sqlite.DB {
	d, err := sqlite.Open(context.Background(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// Failures kept by one process are found by the next one; a read-only database returns an error.
func TestDurable(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "adroit.db")
	d := open(t, path)
	if err := problem.In(d).Add(ctx, problem.Failure{Key: "J1/1", Text: "it fails"}); err != nil {
		t.Fatal(err)
	}
	other := open(t, path)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := problem.In(other).Find(ctx, problem.Query{Words: []string{"fails"}}); len(got) != 1 || err != nil {
		t.Errorf("found %v (%v)", got, err)
	}
	if faults, err := other.Verify(ctx); len(faults) > 0 || err != nil {
		t.Errorf("the database has faults: %v (%v)", faults, err)
	}
	reader, err := sqlite.OpenReadOnly(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if got, err := problem.In(reader).Find(ctx, problem.Query{}); len(got) != 1 || err != nil {
		t.Errorf("read only: found %v (%v)", got, err)
	}
	if err := problem.In(reader).Add(ctx, problem.Failure{Key: "J2/1"}); err == nil {
		t.Error("what is opened for reading only was written to")
	}
}
