package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What the smallest program over the runtime links, of other modules and in
// bytes without symbols; the aim for the second is 12 MB. text/template, in which
// agents are written, keeps the methods of all types that are looked at by reflection.
const (
	minimalModules = 13
	minimalBytes   = 19 << 20
)

// TestMinimal fails if the smallest program links more than before, or if it or pkg/adroit links
// packages that are for other programs.
func TestMinimal(t *testing.T) {
	deps := func(pkg string) []string {
		out, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}", pkg).Output()
		if err != nil {
			t.Fatal(err)
		}
		list := strings.Fields(string(out))
		slices.Sort(list)
		return slices.Compact(list)
	}
	modules := deps("./testdata/minimal")
	if len(modules) > minimalModules {
		t.Errorf("the smallest program links %d modules, not at most %d: %s", len(modules), minimalModules, strings.Join(modules, " "))
	}
	for _, m := range append(modules, deps("../../../pkg/adroit")...) {
		for _, no := range []string{"modernc.org/", "go.temporal.io/", "github.com/ollama/", "github.com/spf13/", "github.com/coder/"} {
			if strings.HasPrefix(m, no) {
				t.Errorf("%s is linked into every program over pkg/adroit", m)
			}
		}
	}
	if testing.Short() {
		t.Skip("the rest links a program")
	}
	bin := filepath.Join(t.TempDir(), "minimal")
	if out, err := exec.Command("go", "build", "-ldflags", "-s -w", "-o", bin, "./testdata/minimal").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	st, err := os.Stat(bin)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d modules, %d bytes", len(modules), st.Size())
	if st.Size() > minimalBytes {
		t.Errorf("the smallest program has %d bytes, not at most %d", st.Size(), minimalBytes)
	}
}
