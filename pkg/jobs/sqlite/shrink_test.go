package sqlite

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/adroit-run/adroit/pkg/jobs"
)

// The space of removed jobs is given back to the disk, also while another process has
// the database open, and what is left is as it was.
func TestShrink(t *testing.T) {
	path := filepath.Join(t.TempDir(), "adroit.db")
	d := open(t, path, Options{})
	other := open(t, path, Options{})
	input, err := json.Marshal(string(bytes.Repeat([]byte("x"), 100_000)))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		if _, err := d.Add(t.Context(), &jobs.Job{ID: fmt.Sprint("J", i), Input: input}); err != nil {
			t.Fatal(err)
		}
	}
	if did, err := d.Shrink(t.Context()); did || err != nil {
		t.Errorf("a full database: %v, %v", did, err)
	}
	for i := range 39 {
		if err := d.Remove(t.Context(), fmt.Sprint("J", i)); err != nil {
			t.Fatal(err)
		}
	}
	if did, err := d.Shrink(t.Context()); !did || err != nil {
		t.Fatalf("shrunk %v, %v", did, err)
	}
	size := int64(0)
	for _, suffix := range []string{"", "-wal"} {
		if info, err := os.Stat(path + suffix); err == nil {
			size += info.Size()
		}
	}
	if size > 1<<20 {
		t.Errorf("%d bytes for one job", size)
	}
	if faults, err := d.Verify(t.Context()); err != nil || len(faults) > 0 {
		t.Error(faults, err)
	}
	for _, db := range []*DB{d, other} {
		if list, err := db.List(t.Context(), jobs.Query{}); err != nil || len(list) != 1 || !bytes.Equal(list[0].Input, input) {
			t.Errorf("%d jobs, %v", len(list), err)
		}
	}
	if _, err := other.Add(t.Context(), &jobs.Job{ID: "K"}); err != nil {
		t.Error(err)
	}
}
