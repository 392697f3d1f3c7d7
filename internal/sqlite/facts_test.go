package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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

// Among 50,000 facts a search finds the one, and what is forgotten leaves no trace
// in the file.
func TestManyFacts(t *testing.T) {
	d := fresh(t)
	var add []memory.Addition
	for i := range 50_000 {
		add = append(add, memorytest.Fact(fmt.Sprint(i), fmt.Sprintf("the module number %d is tested by make", i)))
	}
	add[777].Text = "xylophone modules need care"
	if _, err := d.AddFacts(t.Context(), add...); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	found, err := d.Facts(t.Context(), memory.Query{Project: "/p", Text: "which xylophone is tested by which module?", Limit: 5})
	if err != nil || len(found) != 5 || found[0].ID != add[777].ID {
		t.Fatalf("%+v, %v", found, err)
	}
	t.Logf("search among 50,000: %s", time.Since(begun))
	if n, err := d.RemoveFacts(t.Context(), memory.Query{Text: "xylophone"}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	path := d.path
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "copy.db")
	again, err := Open(t.Context(), path, Options{Check: true})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if err := again.Backup(t.Context(), copied); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(copied)
	if err != nil || strings.Contains(string(b), "xylophon") {
		t.Errorf("%v; a forgotten word is in the file: %v", err, strings.Contains(string(b), "xylophon"))
	}
}
