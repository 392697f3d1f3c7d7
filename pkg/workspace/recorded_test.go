package workspace

import (
	"testing"

	"github.com/adroit-run/adroit/internal/work/ledger"
)

// What was read is in the ledger, too, and is nothing to undo.
func TestRecorded(t *testing.T) {
	dir := t.TempDir()
	l, err := ledger.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	want := func(want bool, when string) {
		t.Helper()
		if got := ledger.Recorded(dir); got != want {
			t.Errorf("%s: Recorded is %v", when, got)
		}
	}
	want(false, "new")
	if err := l.Seen("a.txt", "00"); err != nil {
		t.Fatal(err)
	}
	want(false, "after reading")
	if err := l.At("1.1").Change("", ledger.PathChange{Path: "a.txt"}); err != nil {
		t.Fatal(err)
	}
	want(true, "after a change")
}
