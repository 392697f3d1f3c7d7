package sqlite

import (
	"os"
	"path/filepath"
	"testing"
)

// What was being removed stays with the jobs that were there: the restored ones are not
// meant. And a restore whose files are gone is not called finished.
func TestExchange(t *testing.T) {
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	write(filepath.Join(dir, databaseFile), "old")
	write(filepath.Join(dir, "removing", "J1.json"), "{}")
	from := filepath.Join(dir, ".restore-1")
	write(filepath.Join(from, databaseFile), "new")
	aside, err := Exchange(dir, from)
	if err != nil || aside == "" {
		t.Fatal(aside, err)
	}
	if b, _ := os.ReadFile(filepath.Join(dir, databaseFile)); string(b) != "new" {
		t.Errorf("the database is %q", b)
	}
	if there(dir, "removing") || !there(aside, "removing", "J1.json") {
		t.Error("the removal is taken for one of a restored job")
	}

	lost := t.TempDir()
	write(filepath.Join(lost, exchangeFile), `{"from":".restore-1","aside":"replaced-1","names":["adroit.db"]}`)
	if _, err := FinishExchange(lost); err == nil || there(lost, databaseFile) {
		t.Error("a restore without its files is finished")
	}
}
