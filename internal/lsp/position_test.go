package lsp

import (
	"path/filepath"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

func TestColumns(t *testing.T) {
	for _, c := range []struct {
		line          string
		offset, units int
	}{
		{"", 0, 0},
		{"abc", 2, 2},
		{"äbc", 2, 1},
		{"🛒 x", 5, 3},
		{"a🛒", 5, 3},
		{"\xff\xffx", 2, 2}, // what is not UTF-8 counts as one each
	} {
		if got := utf16Column(c.line, c.offset); got != c.units {
			t.Errorf("column of byte %d in %q: %d, want %d", c.offset, c.line, got, c.units)
		}
		if got := byteColumn(c.line, c.units); got != c.offset {
			t.Errorf("byte of column %d in %q: %d, want %d", c.units, c.line, got, c.offset)
		}
	}
	if got := byteColumn("🛒x", 1); got != 0 {
		t.Errorf("inside of a character: %d, want its begin", got)
	}
	if got := byteColumn("ab", 99); got != 2 {
		t.Errorf("past the end: %d, want the end", got)
	}
}

func FuzzColumns(f *testing.F) {
	f.Add("a🛒ä", 3)
	f.Fuzz(func(t *testing.T, line string, column int) {
		at := byteColumn(line, column)
		if at < 0 || at > len(line) {
			t.Fatalf("byte %d of %q", at, line)
		}
		if utf8.ValidString(line) && column >= 0 && column <= len(utf16.Encode([]rune(line))) {
			if back := utf16Column(line, at); back != column && back != column-1 {
				t.Errorf("column %d of %q is byte %d, which is column %d", column, line, at, back)
			}
		}
	})
}

func TestLineOf(t *testing.T) {
	text := "one\r\ntwo\n\nfour"
	for n, want := range []string{"one", "two", "", "four", ""} {
		if got := lineOf(split(text), n); got != want {
			t.Errorf("line %d: %q, want %q", n, got, want)
		}
	}
}

func TestURIs(t *testing.T) {
	root := filepath.Join(t.TempDir(), "a b#c")
	for _, name := range []string{"x.go", "dir/ä ö.go", "50%.go", "q?.go"} {
		if got, ok := fileOf(root, uriOf(root, name)); !ok || got != name {
			t.Errorf("%s became %q by way of %s", name, got, uriOf(root, name))
		}
	}
	if got, ok := fileOf(root, "file:///usr/lib/x.go"); !ok || got != "/usr/lib/x.go" {
		t.Errorf("outside: %q, %v", got, ok)
	}
	if _, ok := fileOf(root, "untitled:x"); ok {
		t.Error("what is no file was taken for one")
	}
	if got, ok := fileOf("/r", "file:///r/c%3A/x.py"); !ok || got != "c:/x.py" {
		t.Errorf("escaped: %q, %v", got, ok)
	}
}
