package rootfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestWholeFiles checks the content under a file's name while it is written and after each way to
// end that, and that nothing else is left beside it.
func TestWholeFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b", "f")
	is := func(want string) {
		t.Helper()
		b, err := os.ReadFile(path)
		if want == "" && errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil || string(b) != want {
			t.Fatalf("the file has %q, %v, not %q", b, err, want)
		}
	}
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	f, err := Begin(path)
	ok(err)
	_, err = f.WriteString("first")
	ok(err)
	is("")
	f.Drop()
	is("")
	ok(CreateFile(path, 0o600, []byte("second")))
	is("second")
	if err := CreateFile(path, 0o600, []byte("third")); !errors.Is(err, fs.ErrExist) {
		t.Fatalf("a file that is there was created: %v", err)
	}
	is("second")
	f, err = Begin(path)
	ok(err)
	_, err = f.WriteString("fourth")
	ok(err)
	is("second")
	ok(f.Replace())
	f.Drop()
	is("fourth")
	ok(WriteJSON(path, 5))
	is("5")
	root, err := os.OpenRoot(filepath.Dir(path))
	ok(err)
	defer root.Close()
	if err := CreateIn(root, "f", 0o644, nil); !errors.Is(err, fs.ErrExist) {
		t.Fatalf("a file that is there was created: %v", err)
	}
	ok(ReplaceIn(root, "f", 0o644, []byte("sixth")))
	is("sixth")
	ok(Move(path, path+"2"))
	is("")
	ok(CreateIn(root, "f", 0o600, []byte("seventh")))
	is("seventh")
	list, err := os.ReadDir(filepath.Dir(path))
	ok(err)
	for _, e := range list {
		if e.Name() != "f" && e.Name() != "f2" {
			t.Errorf("%s is left", e.Name())
		}
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
}
