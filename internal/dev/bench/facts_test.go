package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/adroit-run/adroit/internal/memory"
	"github.com/adroit-run/adroit/internal/memory/memorytest"
	"github.com/adroit-run/adroit/pkg/jobs/sqlite"
)

// Among 50,000 facts a search finds the right one, and a removed fact leaves no trace in the file.
// It is here and not beside the store, where it would run with the race detector: it has no
// goroutines of its own and takes three times as long there.
func TestManyFacts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "facts.db")
	d, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() }) // the test closes it too
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
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "copy.db")
	again, err := sqlite.Open(t.Context(), path, sqlite.Options{Check: true})
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
