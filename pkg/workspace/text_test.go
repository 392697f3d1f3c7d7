package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// Conformance 8: one word is edited, and nothing else may differ.
func TestEditKeepsBytes(t *testing.T) {
	wide := func(s string) string { return string(rootfs.Encode16(s, rootfs.UTF16LE)) }
	wideBE := func(s string) string { return string(rootfs.Encode16(s, rootfs.UTF16BE)) }
	for name, c := range map[string][2]string{
		"lf":                {"one\ntwo\n", "one\n2\n"},
		"crlf":              {"one\r\ntwo\r\nthree\r\n", "one\r\n2\r\nthree\r\n"},
		"mixed":             {"a\r\nb\ntwo\r\nc\nd\r\n", "a\r\nb\n2\r\nc\nd\r\n"},
		"mixed, first":      {"two\nb\r\nc\r\n", "2\nb\r\nc\r\n"},
		"bom":               {"\xef\xbb\xbfone two\n", "\xef\xbb\xbfone 2\n"},
		"no final newline":  {"one\ntwo", "one\n2"},
		"crlf, none at end": {"one\r\ntwo", "one\r\n2"},
		"lone cr":           {"a\rb\ntwo\r\r\n\r", "a\rb\n2\r\r\n\r"},
		"latin-1":           {"caf\xe9 two\x80\n", "caf\xe9 2\x80\n"},
		"latin-1 crlf":      {"\xe9\r\ntwo\r\n", "\xe9\r\n2\r\n"},
		"utf-16le":          {wide("é two\r\n𝄞\n"), wide("é 2\r\n𝄞\n")},
		"utf-16be":          {wideBE("é two\n"), wideBE("é 2\n")},
		"wide characters":   {"é two 日本\n", "é 2 日本\n"},
	} {
		f, _, dir := openTemp(t)
		dirtest.Write(t, filepath.Join(dir, "f"), c[0])
		text, err := f.ReadText("f")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if strings.Contains(text.Content, "\r\n") && name != "lone cr" {
			t.Errorf("%s: the content has CRLF: %q", name, text.Content)
		}
		text.Content = strings.Replace(text.Content, "two", "2", 1)
		if err := f.WriteText("f", text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := dirtest.Content(t, filepath.Join(dir, "f")); got != c[1] {
			t.Errorf("%s: %q, want %q", name, got, c[1])
		}
	}
}

func TestInsertedLinesFollowTheirNeighbours(t *testing.T) {
	for _, c := range []struct{ in, old, new, want string }{
		{"a\r\nb\r\n", "a\n", "a\nx\n", "a\r\nx\r\nb\r\n"},
		{"a\r\nb\r\nc\n", "a\n", "a\nx\n", "a\r\nx\r\nb\r\nc\n"},
		{"a\r\nb\nc\r\n", "b\n", "", "a\r\nc\r\n"},
		{"a\r\nb\nc\r\n", "c\n", "c\nd", "a\r\nb\nc\r\nd"},
		{"a\r\nb\n", "a\nb\n", "b\na\n", ""}, // whatever it is, each line must be there
	} {
		text, reason := rootfs.Decode([]byte(c.in))
		if reason != "" {
			t.Fatal(reason)
		}
		text.Content = strings.Replace(text.Content, c.old, c.new, 1)
		got, err := text.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		if c.want != "" && string(got) != c.want {
			t.Errorf("%q with %q for %q: %q, want %q", c.in, c.new, c.old, got, c.want)
		}
		if plain := strings.ReplaceAll(string(got), "\r\n", "\n"); plain != text.Content {
			t.Errorf("%q: the text became %q", c.in, plain)
		}
	}
}

func TestNotEditable(t *testing.T) {
	f, _, dir := openTemp(t)
	for name, b := range map[string]string{
		"binary": "a\x00b", "lone surrogate": "\xff\xfe\x00\xd8a\x00", "odd utf-16": "\xff\xfea", "damaged utf-8": "éàü \xff\n",
	} {
		dirtest.Write(t, filepath.Join(dir, "f"), b)
		if _, err := f.ReadText("f"); err == nil || !strings.Contains(err.Error(), "editing could not") && !strings.Contains(err.Error(), "cannot be edited") {
			t.Errorf("%s: %v", name, err)
		}
	}
	dirtest.Write(t, filepath.Join(dir, "latin"), "caf\xe9\n")
	text, err := f.ReadText("latin")
	if err != nil {
		t.Fatal(err)
	}
	text.Content += "日本\n"
	if err := f.WriteText("latin", text); err == nil || !strings.Contains(err.Error(), "Latin-1") {
		t.Errorf("WriteText = %v", err)
	}
	if got, _ := os.ReadFile(filepath.Join(dir, "latin")); string(got) != "caf\xe9\n" {
		t.Errorf("the file has %q", got)
	}
}

// Reading and writing back changes nothing, whatever the bytes; and an edit of
// one line leaves every other line's bytes alone.
func FuzzText(f *testing.F) {
	for _, s := range []string{"", "a", "a\r\nb\nc", "\xef\xbb\xbfx\r\n", "\xff\xfea\x00\n\x00", "caf\xe9\r", "\r\r\n\n\r\n", "a\r\n\r\nb\n"} {
		f.Add([]byte(s), uint8(1), "new")
	}
	f.Fuzz(func(t *testing.T, b []byte, at uint8, with string) {
		text, reason := rootfs.Decode(b)
		if reason != "" {
			return
		}
		back, err := text.Bytes()
		if err != nil || string(back) != string(b) {
			t.Fatalf("%q came back as %q, %v", b, back, err)
		}
		if text.Encoding != rootfs.UTF8 || strings.ContainsAny(with, "\r\n") || with == "" {
			return
		}
		lines := strings.SplitAfter(text.Content, "\n")
		raw := strings.SplitAfter(strings.TrimPrefix(string(b), "\xef\xbb\xbf"), "\n")
		i := int(at) % len(lines)
		lines[i] = with + "\u2603" + lines[i] // no line has this by chance and still matches
		raw[i] = with + "\u2603" + raw[i]
		text.Content = strings.Join(lines, "")
		got, err := text.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		want := strings.Join(raw, "")
		if strings.TrimPrefix(string(got), "\xef\xbb\xbf") != want {
			t.Fatalf("line %d of %q edited: %q, want %q", i, b, got, want)
		}
	})
}
