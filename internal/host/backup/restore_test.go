package backup

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/internal/system/rootfs"
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
		{tar.Header{Name: "jobs/J1/x", Typeflag: tar.TypeLink, Linkname: "adroit.db"}, `it has the link "jobs/J1/x"`},
		{tar.Header{Name: "worktrees/w/h", Typeflag: tar.TypeLink, Linkname: "adroit.db"}, `no file of the archive in the same tree`},
		{tar.Header{Name: "worktrees/w/h", Typeflag: tar.TypeLink, Linkname: "worktrees/v/a"}, `no file of the archive in the same tree`},
		{tar.Header{Name: "worktrees/w/h", Typeflag: tar.TypeLink, Linkname: "worktrees/w/../../adroit.db"}, `no file of the archive in the same tree`},
		{tar.Header{Name: "worktrees/w/a", Typeflag: tar.TypeReg, Format: tar.FormatPAX, PAXRecords: map[string]string{attrPrefix + "security.capability": "x"}}, `which backups do not have`},
		{tar.Header{Name: "worktrees/w/a", Typeflag: tar.TypeReg, Format: tar.FormatPAX, PAXRecords: map[string]string{attrPrefix + "user.overlay.opaque": "y"}}, `which backups do not have`},
		{tar.Header{Name: "trust.json", Typeflag: tar.TypeReg, Format: tar.FormatPAX, PAXRecords: map[string]string{attrPrefix + "user.x": "y"}}, `which backups do not have`},
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

// Of the files of worktrees and killed commands a backup has hard links, attributes that everybody may
// set, and bits of directories; what else they have is listed.
func TestKeptOfFiles(t *testing.T) {
	data := t.TempDir()
	db, err := sqlite.Open(t.Context(), filepath.Join(data, databaseFile), sqlite.Options{})
	dirtest.Must(t, err)
	defer db.Close()
	upper := "jobs/J1/ledger/overlays/1/upper"
	at := func(dir, name string) string { return filepath.Join(data, dir, name) }
	for _, dir := range []string{"worktrees/w", upper} {
		for name, text := range map[string]string{"a": "one", "su": "x", "d/f": "y"} {
			dirtest.Write(t, at(dir, name), text)
		}
		dirtest.Must(t, os.Link(at(dir, "a"), at(dir, "d/b")))
		dirtest.Must(t, os.Chmod(at(dir, "su"), 0o755|os.ModeSetuid))
		dirtest.Must(t, os.Chmod(at(dir, "d"), 0o755|os.ModeSticky))
		dirtest.Must(t, unix.Mkfifo(at(dir, "p"), 0o600))
		f, err := os.Open(at(dir, "d/f"))
		dirtest.Must(t, err)
		if refused := rootfs.AddAttrs(int(f.Fd()), map[string]string{"user.k": "v\x00w", "user.a=b": "c"}); refused != nil {
			testenv.Missing(t, "the file system keeps no extended attributes")
		}
		dirtest.Must(t, f.Close())
	}
	// A name of a file outside of the tree is none of it.
	dirtest.Must(t, os.Link(at("worktrees/w", "a"), at(upper, "other")))
	file, to := filepath.Join(t.TempDir(), "a.tar"), filepath.Join(t.TempDir(), "data")
	_, err = Write(t.Context(), data, file, "v1")
	dirtest.Must(t, err)
	r, err := Restore(t.Context(), to, file, "v1", false)
	dirtest.Must(t, err)
	var want []Loss
	for _, dir := range []string{upper, "worktrees/w"} {
		for _, l := range []Loss{{"d/f", "user.a=b"}, {"p", "fifo"}, {"su", "setuid"}} {
			want = append(want, Loss{rootfs.RawName(path.Join(dir, string(l.Path))), l.What})
		}
		same := func(a, b string) bool {
			one, err := os.Stat(filepath.Join(to, dir, a))
			dirtest.Must(t, err)
			two, err := os.Stat(filepath.Join(to, b))
			dirtest.Must(t, err)
			return os.SameFile(one, two)
		}
		if !same("a", path.Join(dir, "d/b")) || same("a", path.Join(upper, "other")) {
			t.Errorf("%s: hard links are not as they were", dir)
		}
		for name, mode := range map[string]os.FileMode{"su": 0o755, "d": os.ModeDir | os.ModeSticky | 0o755} {
			if info, err := os.Stat(filepath.Join(to, dir, name)); err != nil || info.Mode() != mode {
				t.Errorf("%s/%s: %v, %v", dir, name, info.Mode(), err)
			}
		}
		d, err := os.Open(filepath.Join(to, dir, "d"))
		dirtest.Must(t, err)
		if got := rootfs.AttrsAt(int(d.Fd()), "f"); !maps.Equal(got, map[string]string{"user.k": "v\x00w"}) {
			t.Errorf("%s: attributes %q", dir, got)
		}
		dirtest.Must(t, d.Close())
	}
	if !slices.Equal(r.Lost, want) {
		t.Errorf("lost %q, want %q", r.Lost, want)
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
