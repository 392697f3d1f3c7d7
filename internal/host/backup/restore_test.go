package backup

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/jobs/sqlite"
)

// An archive may come from anybody: it brings no token, which would let its maker in, and no link
// that would redirect adroit's writes.
func TestForeignArchive(t *testing.T) {
	data := t.TempDir()
	db, err := sqlite.Open(t.Context(), filepath.Join(data, databaseFile), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	database, err := os.ReadFile(filepath.Join(data, databaseFile))
	if err != nil {
		t.Fatal(err)
	}
	outside := t.TempDir()
	for _, c := range []struct {
		entry tar.Header
		want  string // of the error; empty: it is restored
	}{
		{tar.Header{Name: "adroit.token", Typeflag: tar.TypeReg}, `it has "adroit.token"`},
		{tar.Header{Name: "./Adroit.Token", Typeflag: tar.TypeReg}, `it has "./Adroit.Token"`},
		{tar.Header{Name: "adroit.token/x", Typeflag: tar.TypeReg}, `it has "adroit.token/x"`},
		{tar.Header{Name: "jobs/../.token-1", Typeflag: tar.TypeReg}, `it has "jobs/../.token-1"`},
		{tar.Header{Name: "adroit.db-wal", Typeflag: tar.TypeReg}, `it has "adroit.db-wal"`},
		{tar.Header{Name: "restoring.json", Typeflag: tar.TypeReg}, `it has "restoring.json"`},
		{tar.Header{Name: "cache/x", Typeflag: tar.TypeReg}, `it has "cache/x"`},
		{tar.Header{Name: "jobs/J1/sandbox/x", Typeflag: tar.TypeReg}, `it has "jobs/J1/sandbox/x"`},
		{tar.Header{Name: "jobs", Typeflag: tar.TypeSymlink, Linkname: outside}, `it has the link "jobs"`},
		{tar.Header{Name: "jobs/J1", Typeflag: tar.TypeSymlink, Linkname: outside}, `it has the link "jobs/J1"`},
		{tar.Header{Name: "content", Typeflag: tar.TypeSymlink, Linkname: outside}, `it has the link "content"`},
		{tar.Header{Name: "worktrees/w", Typeflag: tar.TypeSymlink, Linkname: outside}, `it has the link "worktrees/w"`},
		{tar.Header{Name: "worktrees/w/../../jobs", Typeflag: tar.TypeSymlink, Linkname: outside}, `it has the link`},
		{tar.Header{Name: "jobs/J1/trees/t", Typeflag: tar.TypeSymlink, Linkname: outside}, `it has the link "jobs/J1/trees/t"`},
		{tar.Header{Name: "jobs/J1/x", Typeflag: tar.TypeLink, Linkname: "adroit.db"}, `has a type that backups do not have`},
		{tar.Header{Name: "jobs/J1/ledger/overlays/1/upper", Typeflag: tar.TypeSymlink, Linkname: outside}, `it has the link "jobs/J1/ledger/overlays/1/upper"`},
		{tar.Header{Name: "jobs/J1/ledger/overlays/1/upper/l", Typeflag: tar.TypeChar}, `has a type that backups do not have`},
		{tar.Header{Name: "jobs/J1/ledger/overlays/1/upper/l", Typeflag: tar.TypeSymlink, Linkname: "a"}, ""},
		{tar.Header{Name: "worktrees/w/l", Typeflag: tar.TypeSymlink, Linkname: "a"}, ""},
		{tar.Header{Name: "jobs/J1/trees/t/l", Typeflag: tar.TypeSymlink, Linkname: "a"}, ""},
		{tar.Header{Name: "trust.json", Typeflag: tar.TypeReg}, ""},
	} {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		put := func(h tar.Header, content []byte) {
			h.Mode, h.Size = 0o600, int64(len(content))
			if err := w.WriteHeader(&h); err != nil {
				t.Fatal(err)
			}
			if _, err := w.Write(content); err != nil {
				t.Fatal(err)
			}
		}
		manifest, err := json.Marshal(Manifest{Version: "v1"})
		if err != nil {
			t.Fatal(err)
		}
		put(tar.Header{Name: manifestFile, Typeflag: tar.TypeReg}, manifest)
		put(tar.Header{Name: databaseFile, Typeflag: tar.TypeReg}, database)
		for _, dir := range []string{"worktrees", "worktrees/w", "jobs/J1/trees/t", "jobs/J1/ledger/overlays/1/upper"} {
			if parent, _, _ := strings.Cut(dir, "/"); c.want == "" && strings.HasPrefix(c.entry.Name, parent) {
				put(tar.Header{Name: dir, Typeflag: tar.TypeDir}, nil)
			}
		}
		put(c.entry, nil)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		file, to := filepath.Join(t.TempDir(), "a.tar"), filepath.Join(t.TempDir(), "data")
		if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err = Restore(t.Context(), to, file, "v1", false)
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.entry.Name, err)
		case c.want == "":
			if _, err := os.Lstat(filepath.Join(to, c.entry.Name)); err != nil {
				t.Error(err)
			}
		case err == nil || !strings.Contains(err.Error(), c.want):
			t.Errorf("%s: %v, want %s", c.entry.Name, err, c.want)
		default:
			if left, _ := filepath.Glob(filepath.Join(to, "*")); len(left) > 0 {
				t.Errorf("%s: left %v", c.entry.Name, left)
			}
		}
	}
}

// No file is written through a link of the archive, whatever the order of its entries: its name would be
// checked, and not that which the link leads to.
func TestNothingIsWrittenThroughLinks(t *testing.T) {
	data := t.TempDir()
	for _, e := range []struct {
		link tar.Header
		file string
	}{
		{tar.Header{Name: "worktrees/w/l", Typeflag: tar.TypeSymlink, Linkname: "../.."}, "worktrees/w/l/adroit.token"},
		{tar.Header{Name: "jobs/J1/ledger/overlays/1/upper/l", Typeflag: tar.TypeSymlink, Linkname: "../../../../../.."}, "jobs/J1/ledger/overlays/1/upper/l/adroit.token"},
		{tar.Header{Name: "worktrees/w/t", Typeflag: tar.TypeSymlink, Linkname: "../../adroit.token"}, "worktrees/w/t"},
	} {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for _, h := range []tar.Header{{Name: manifestFile, Typeflag: tar.TypeReg, Size: 2}, {Name: path.Dir(e.link.Name), Typeflag: tar.TypeDir, Mode: 0o700}, e.link, {Name: e.file, Typeflag: tar.TypeReg}} {
			h.Mode |= 0o600
			if err := w.WriteHeader(&h); err != nil {
				t.Fatal(err)
			}
			if h.Size > 0 {
				if _, err := w.Write([]byte("{}")); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "a.tar")
		if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := extract(t.Context(), file, data, &Manifest{}); err == nil {
			t.Errorf("%s: it is taken", e.file)
		}
		if _, err := os.Lstat(filepath.Join(data, "adroit.token")); err == nil {
			t.Errorf("%s: it is written through the link", e.file)
		}
	}
}

// What Write leaves out Restore refuses, so that no backup is refused.
func TestBackupLeavesOut(t *testing.T) {
	data := t.TempDir()
	db, err := sqlite.Open(t.Context(), filepath.Join(data, databaseFile), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, name := range []string{"adroit.token", ".token-1", "jobs/J1/sandbox/x", "jobs/J1/job.json", "cache/c", "new-1/x", "replaced-1/x", "worktrees/w/a"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(data, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(data, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"worktrees/w/l", "jobs/J1/l"} {
		if err := os.Symlink("a", filepath.Join(data, name)); err != nil {
			t.Fatal(err)
		}
	}
	file, to := filepath.Join(t.TempDir(), "a.tar"), filepath.Join(t.TempDir(), "data")
	if _, err := Write(t.Context(), data, file, "v1"); err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(t.Context(), to, file, "v1", false); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"adroit.token": false, "jobs/J1/sandbox": false, "jobs/J1/l": false, "cache": false, "jobs/J1/job.json": true, "worktrees/w/l": true} {
		if _, err := os.Lstat(filepath.Join(to, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}
