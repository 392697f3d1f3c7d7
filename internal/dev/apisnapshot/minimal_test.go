package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// bounds are what programs link, of other modules and in bytes without symbols, and what a cold build of them
// compiles. The aims for bytes are 38 MiB and 12 MiB. When a program grows by megabytes at once, something that looks up
// methods by a name that is not constant, such as text/template's Execute, may keep all of them:
// go build -ldflags=-dumpdep writes "ReflectMethod" beside it.
var bounds = []struct {
	program                  string
	modules, packages, bytes int
}{
	{"./testdata/minimal", 13, 300, 18_810_000}, // the smallest program over the runtime
	{"../../../cmd/adroit", 62, 505, 42_720_000},
}

// TestMinimal fails if a program links more than before, or if the smallest one or pkg/adroit links
// packages that are for other programs.
func TestMinimal(t *testing.T) {
	list := func(format, pkg string) []string {
		out, err := exec.Command("go", "list", "-deps", "-f", format, pkg).Output()
		if err != nil {
			t.Fatal(err)
		}
		list := strings.Fields(string(out))
		slices.Sort(list)
		return slices.Compact(list)
	}
	const module = "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}"
	for _, m := range append(list(module, "./testdata/minimal"), list(module, "../../../pkg/adroit")...) {
		for _, no := range []string{"modernc.org/", "go.temporal.io/", "github.com/ollama/", "github.com/spf13/", "github.com/coder/"} {
			if strings.HasPrefix(m, no) {
				t.Errorf("%s is linked into every program over pkg/adroit", m)
			}
		}
	}
	for _, b := range bounds {
		if modules := list(module, b.program); len(modules) > b.modules {
			t.Errorf("%s links %d modules, not at most %d: %s", b.program, len(modules), b.modules, strings.Join(modules, " "))
		}
		if n := len(list("{{.ImportPath}}", b.program)); n > b.packages {
			t.Errorf("%s has %d packages, not at most %d", b.program, n, b.packages)
		}
		if testing.Short() {
			continue
		}
		bin := filepath.Join(t.TempDir(), "program")
		if out, err := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", bin, b.program).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		st, err := os.Stat(bin)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d bytes", b.program, st.Size())
		if st.Size() > int64(b.bytes) {
			t.Errorf("%s has %d bytes, not at most %d", b.program, st.Size(), b.bytes)
		}
	}
}
