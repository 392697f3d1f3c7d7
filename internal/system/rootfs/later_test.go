package rootfs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A file that is rewritten within a second, with the same size, gets another second: otherwise
// Python would use the old compiled file for the new one.
func TestWrittenWithinASecond(t *testing.T) {
	dir := t.TempDir()
	tree, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Root.Close()
	name := filepath.Join(dir, "a.py")
	for i, c := range []struct {
		text  string
		other bool
	}{{"a - b", true}, {"a + b", true}, {"a * b", true}, {"longer", false}} {
		var was time.Time
		for range 20 { // until both writes are of one second
			if err := tree.Put("a.py", "tmp", DefaultMode, strings.NewReader("0 - 0")); err != nil {
				t.Fatal(err)
			}
			now := time.Now()
			if err := os.Chtimes(name, now, now); err != nil {
				t.Fatal(err)
			}
			if err := tree.Put("a.py", "tmp", DefaultMode, strings.NewReader(c.text)); err != nil {
				t.Fatal(err)
			}
			if was = now; time.Now().Unix() == now.Unix() {
				break
			}
		}
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.ModTime().Unix() != was.Unix(); got != c.other {
			t.Errorf("%d: another second: %t, want %t", i, got, c.other)
		}
	}
}
