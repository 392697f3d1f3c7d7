package catalog_test

import (
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/dev/dirtest"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/pkg/guard/trust"
)

// spellings are the ways other programs save a text, and whether it may be loaded.
var spellings = map[string]struct {
	encode func(text string) string
	loads  bool
}{
	"UTF-8":             {func(s string) string { return s + "# é\n" }, true},
	"UTF-8 with a mark": {func(s string) string { return "\ufeff" + s + "# é\n" }, true},
	"UTF-16LE":          {func(s string) string { return string(rootfs.Encode16(s+"# é\n", rootfs.UTF16LE)) }, true},
	"UTF-16BE":          {func(s string) string { return string(rootfs.Encode16(s+"# é\n", rootfs.UTF16BE)) }, true},
	"CRLF":              {func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }, true},
	"UTF-16, no mark":   {func(s string) string { return string(rootfs.Encode16(s, rootfs.UTF16LE)[2:]) }, false},
	"half of UTF-16":    {func(s string) string { return string(rootfs.Encode16(s, rootfs.UTF16LE)) + "\n" }, false},
	"Latin-1":           {func(s string) string { return s + "# \xe9\n" }, false},
	"NUL":               {func(s string) string { return s + "# \x00\n" }, false},
	"NUL, far in":       {func(s string) string { return s + "# " + strings.Repeat("x", 20000) + "\x00\n" }, false},
}

// TestReadAsShown saves each file that can instruct agents in each encoding: the text that is
// loaded is the text that was shown when it was trusted, and text that cannot be shown is never
// loaded, trusted or not.
func TestReadAsShown(t *testing.T) {
	t.Parallel()
	for name, text := range instructions {
		for how, save := range spellings {
			t.Run(strings.ReplaceAll(name, "/", " ")+" "+how, func(t *testing.T) {
				t.Parallel()
				dir, store := t.TempDir(), trust.In(t.TempDir())
				dirtest.Write(t, filepath.Join(dir, name), save.encode(text))
				st, err := store.Check(dir)
				dirtest.Must(t, err)
				shown := st.WithText().Files[0].Text
				dirtest.Must(t, store.Record(st, st.Files, true))
				said := read(t, dir, store, false)
				if loaded := strings.Contains(said, "hunter2"); loaded != save.loads || strings.Contains(shown, "hunter2") != save.loads {
					t.Errorf("loads: %v, want %v; shown: %.60q; read: %s", loaded, save.loads, shown, said)
				}
				if name == ".mcp.json" {
					return // a caller parses its bytes
				}
				if loaded := strings.Contains(read(t, dir, nil, true), "hunter2"); loaded != save.loads {
					t.Errorf("where all is trusted it loads: %v, want %v", loaded, save.loads)
				}
			})
		}
	}
}

// TestShownIsRead names the files of a project in every way: one is shown as one to
// trust exactly if it is read when it is trusted.
func TestShownIsRead(t *testing.T) {
	t.Parallel()
	texts := map[string]string{}
	for name, text := range instructions {
		if dir := path.Dir(name); dir != "." && name != ".adroit/validation.yaml" && path.Base(name) != "SKILL.md" {
			texts[strings.TrimSuffix(strings.TrimSuffix(dir, "/b"), "/a")+" "+path.Ext(name)] = text
		}
	}
	for place, text := range texts {
		dir, ext, _ := strings.Cut(place, " ")
		for _, name := range []string{"x" + ext, "sub/x" + ext, "sub/vendor/x" + ext, "README" + ext, "sub/readme" + ext, ".x" + ext, ".sub/x" + ext, "sub/.x/y" + ext, "x.txt", "x"} {
			t.Run(strings.ReplaceAll(dir+" "+name, "/", " "), func(t *testing.T) {
				t.Parallel()
				at, store := t.TempDir(), trust.In(t.TempDir())
				dirtest.Write(t, filepath.Join(at, dir, name), text)
				st, err := store.Check(at)
				dirtest.Must(t, err)
				dirtest.Must(t, store.Record(st, st.Files, true))
				if loaded := strings.Contains(read(t, at, store, false), "hunter2"); loaded != (len(st.Files) == 1) {
					t.Errorf("shown: %v; read: %v", st.Files, loaded)
				}
				if loaded := strings.Contains(read(t, at, nil, true), "hunter2"); loaded != (len(st.Files) == 1) {
					t.Errorf("shown: %v; read where all is trusted: %v", st.Files, loaded)
				}
			})
		}
	}
}
