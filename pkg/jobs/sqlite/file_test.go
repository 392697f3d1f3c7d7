package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/event"
)

// kept makes a database with something in it and closes it.
func kept(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data dir?#%", "a.db")
	d := open(t, path, Options{Version: "v1.2.3"})
	add(t, d, "J")
	for range 100 {
		if err := d.appendEvents(t.Context(), event.Event{Job: "J", Kind: event.Note, Text: strings.Repeat("x", 500)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestModes(t *testing.T) {
	path := kept(t)
	for p, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		st, err := os.Stat(p)
		if err != nil || st.Mode().Perm() != want {
			t.Errorf("%s: mode %v, %v; want %v", p, st.Mode(), err, want)
		}
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	open(t, path, Options{Check: true})
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("a readable database stayed so: %v, %v", st.Mode(), err)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*.new*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}

// TestDamage damages a database in ways disks and people do. Open must refuse
// with the path in its error, and must not touch the file.
func TestDamage(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(b []byte) []byte
		want   string
	}{
		{"empty", func([]byte) []byte { return nil }, "is empty"},
		{"not a database", func(b []byte) []byte { return []byte(strings.Repeat("hello\n", 100)) }, "not a SQLite database"},
		{"zeros", func(b []byte) []byte { return make([]byte, len(b)) }, "not a SQLite database"},
		{"short header", func(b []byte) []byte { return b[:50] }, "shorter than it says"},
		{"truncated", func(b []byte) []byte { return b[:len(b)-4096] }, "shorter than it says"},
		{"another program's", func(b []byte) []byte { copy(b[68:], "abcd"); return b }, "another program"},
		{"a page flipped", func(b []byte) []byte {
			page := b[len(b)-4096:]
			for i := range page {
				page[i] ^= 0xff
			}
			return b
		}, "damaged"},
		{"the schema flipped", func(b []byte) []byte {
			for i := 100; i < 4096; i++ {
				b[i] ^= 0xff
			}
			return b
		}, "damaged"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := kept(t)
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			b = c.damage(b)
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			d, err := Open(t.Context(), path, Options{Check: true})
			if err == nil {
				_ = d.Close()
				t.Fatal("it was opened")
			}
			if !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("error %q, want it to say %q and %s", err, c.want, path)
			}
			after, err := os.ReadFile(path)
			if err != nil || !bytes.Equal(after, b) {
				t.Errorf("the file was changed (%v)", err)
			}
		})
	}
}

func TestNotAFile(t *testing.T) {
	path := kept(t)
	link := filepath.Join(t.TempDir(), "link.db")
	if err := os.Symlink(path, link); err != nil {
		t.Skip(err)
	}
	dangling := filepath.Join(t.TempDir(), "dangling.db")
	if err := os.Symlink(filepath.Join(t.TempDir(), "nothing"), dangling); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{link, dangling, t.TempDir()} {
		if d, err := Open(t.Context(), p, Options{}); err == nil {
			_ = d.Close()
			t.Errorf("%s was opened", p)
		}
	}
}

func TestReadOnly(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may write everything")
	}
	path := kept(t)
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), path, Options{}); !errors.Is(err, errReadOnly) {
		t.Errorf("open: %v", err)
	}
}

func TestNewerSchema(t *testing.T) {
	path := kept(t)
	db, err := sql.Open("sqlite", dsn(path, ""))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("pragma user_version = 99"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), path, Options{})
	if e, ok := errors.AsType[*newerError](err); !ok || e.Version != "v1.2.3" || e.Schema != 99 {
		t.Errorf("open: %v", err)
	}
}

// TestMigrateInOne breaks off in the middle of the first migration: nothing of
// it stays, and the next attempt does all.
func TestMigrateInOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", dsn(path, "", "journal_mode(wal)"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.ExecContext(t.Context(), "create table refs (x)"); err != nil { // in the way of the migration
		t.Fatal(err)
	}
	if err := migrate(t.Context(), c, path, "v1"); err == nil {
		t.Fatal("the migration worked with a table in its way")
	}
	var n int
	if err := c.QueryRowContext(t.Context(), "select count(*) from sqlite_master where name = 'jobs'").Scan(&n); err != nil || n != 0 {
		t.Errorf("half of a migration stayed: %d, %v", n, err)
	}
	if _, err := c.ExecContext(t.Context(), "drop table refs"); err != nil {
		t.Fatal(err)
	}
	if err := migrate(t.Context(), c, path, "v1"); err != nil {
		t.Fatal(err)
	}
}

// TestMigrateEvents opens a database whose events lie as schema 4 had them: then it
// has them as a new one does.
func TestMigrateEvents(t *testing.T) {
	path := kept(t)
	made := func(d *DB) (ddl string) {
		if err := d.read.QueryRow("select replace(sql, '\"', '') from sqlite_master where name = 'events'").Scan(&ddl); err != nil {
			t.Fatal(err)
		}
		return ddl
	}
	want := made(fresh(t))
	db, err := sql.Open("sqlite", dsn(path, ""))
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec(`create table before (job text not null, seq integer not null, data blob not null, primary key (job, seq)) strict, without rowid;
		insert into before select job, seq, data from events; drop table events; alter table before rename to events;
		drop index jobs_key; alter table jobs drop column scope; alter table jobs drop column request; alter table jobs drop column host;
		create unique index jobs_key on jobs (key) where key <> ''; drop table attempts; pragma user_version = 4`)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	d := open(t, path, Options{})
	if err := d.appendEvents(t.Context(), event.Event{Job: "J", Kind: event.Note}); err != nil {
		t.Fatal(err)
	}
	var n int64
	for ev, err := range d.Events(t.Context(), "J", 0, false) {
		if n++; err != nil || ev.Seq != n || len(ev.Text) != 500 && n <= 100 {
			t.Errorf("event %d: %+v, %v", n, ev, err)
		}
	}
	if n != 101 {
		t.Errorf("%d events, want 101", n)
	}
	if got := made(d); got != want {
		t.Errorf("the table is made by\n%s\nand in a new database by\n%s", got, want)
	}
	if faults, err := d.Verify(t.Context()); err != nil || len(faults) > 0 {
		t.Errorf("%v, %v", faults, err)
	}
	if _, err := d.read.Exec("select 1 from events_before"); err == nil {
		t.Error("the old table is still there")
	}
}

// TestLongReader exports a long log slowly while much is written: the
// write-ahead log must not grow with it.
func TestLongReader(t *testing.T) {
	d := fresh(t)
	add(t, d, "J")
	fill := func(n int) {
		evs := make([]event.Event, n)
		for i := range evs {
			evs[i] = event.Event{Job: "J", Kind: event.Note, Text: strings.Repeat("x", 4000)}
		}
		if err := d.appendEvents(t.Context(), evs...); err != nil {
			t.Fatal(err)
		}
	}
	fill(1000)
	read := 0
	for _, err := range d.Events(t.Context(), "J", 0, false) {
		if err != nil {
			t.Fatal(err)
		}
		if read++; read == 1000 {
			break
		}
		if read%20 == 0 {
			fill(250) // 1 MB while the reader is in the middle: 50 MB in all
		}
	}
	st, err := os.Stat(d.path + "-wal")
	if err != nil || st.Size() > 20<<20 {
		t.Errorf("the log has %d bytes, %v", st.Size(), err)
	}
}

func TestClosed(t *testing.T) {
	d := fresh(t)
	add(t, d, "J")
	if err := errors.Join(d.Close(), d.Close()); err != nil {
		t.Fatal(err)
	}
	if err := d.Cancel(context.Background(), "J", nil); !errors.Is(err, errClosed) {
		t.Errorf("after closing: %v", err)
	}
}
