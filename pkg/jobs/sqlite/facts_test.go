package sqlite

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/adroit-run/adroit/internal/memory"
	"github.com/adroit-run/adroit/internal/memory/memorytest"
)

func TestMemorySuite(t *testing.T) {
	memorytest.Store(t, func(t *testing.T) memory.Store { return fresh(t) })
}

// Two processes add to one database: each fact is there once, and both find it.
func TestFactsOfTwoProcesses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "adroit.db")
	var dbs [2]*DB
	for i := range dbs {
		var err error
		if dbs[i], err = Open(t.Context(), path, Options{}); err != nil {
			t.Fatal(err)
		}
		defer dbs[i].Close()
	}
	errs := make(chan error, 2)
	for _, d := range dbs {
		go func() {
			var err error
			for i := range 50 {
				if _, e := d.AddFacts(t.Context(), memorytest.Fact(fmt.Sprint(i), fmt.Sprintf("fact number %d", i))); e != nil {
					err = e
				}
			}
			errs <- err
		}()
	}
	for range dbs {
		if err := <-errs; err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range dbs {
		found, err := d.Facts(t.Context(), memory.Query{Text: "number"})
		if err != nil || len(found) != 50 {
			t.Errorf("%d facts, %v", len(found), err)
		}
	}
}
