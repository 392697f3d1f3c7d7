package process

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
)

// The logs of a job are bounded: the oldest are emptied, with a note, and keep their IDs. The log
// of a running command stays.
func TestLogsAreBounded(t *testing.T) {
	dir := t.TempDir()
	size := func(n int) int64 {
		info, err := os.Stat(filepath.Join(dir, fmt.Sprintf("c%d.log", n)))
		dirtest.Must(t, err)
		return info.Size()
	}
	old := func(n int, mode os.FileMode) {
		file := filepath.Join(dir, fmt.Sprintf("c%d.log", n))
		dirtest.Must(t, os.WriteFile(file, nil, 0o600))
		dirtest.Must(t, os.Truncate(file, MaxLog)) // sparse
		dirtest.Must(t, os.Chmod(file, mode))
	}
	old(1, sealed)
	old(2, 0o600) // cut short
	old(10, sealed)
	var k keptLogs
	runs, err := k.create(dir, "c11")
	dirtest.Must(t, err)
	defer runs.Close()
	fmt.Fprint(runs, "it runs")
	last, err := k.create(dir, "c12")
	dirtest.Must(t, err)
	fmt.Fprint(last, "x")
	last.Close()
	if size(1) != MaxLog {
		t.Error("emptied before there is need")
	}
	last, err = k.create(dir, "c13")
	dirtest.Must(t, err)
	dirtest.Must(t, last.f.Truncate(MaxLog))
	last.written = MaxLog
	last.Close() // a byte too much
	small := int64(len(emptied))
	if size(1) != small || size(2) != small || size(10) != MaxLog || size(11) != 7 || size(12) != 1 || size(13) != MaxLog {
		t.Errorf("sizes: %d %d %d %d %d %d", size(1), size(2), size(10), size(11), size(12), size(13))
	}
	r := New(t.TempDir(), dir, nil)
	if p, err := r.ReadLog("c1", 1, 10); err != nil || len(p.Lines) != 1 || p.Lines[0]+"\n" != emptied {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := k.create(dir, "c1"); !os.IsExist(err) && err == nil {
		t.Error("the id is given again")
	}
}
