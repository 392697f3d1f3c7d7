// Vet vets the module, tests included, for this platform and for others:
//
//	go run ./internal/dev/lint/vet
//	go run ./internal/dev/lint/vet linux/amd64 linux/arm64 darwin/arm64
//
// It runs the analyzers of go vet, flowvet, hints, hostprograms, nilpointers, onename, prose, toolruns and writes over types that it reads from source
// in one process; go vet compiles all for each platform first, which takes ten times as long.
// What a compiler finds and types do not show, it compiles and links once for a platform
// that is not this one: the packages of other modules and the programs with them; again when
// the list of these packages or the toolchain changes. The module itself has no assembly
// and no go:linkname, which vet refuses, and so it links if its types are right.
package main

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/analysis/passes/printf"
	"golang.org/x/tools/go/analysis/suite/vet"
	"golang.org/x/tools/go/packages"

	"github.com/adroit-run/adroit/internal/dev/flowvet"
)

// suite lists the analyzers of go vet and our own.
var suite = append(slices.Clone(vet.Suite), flowvet.Analyzer, hints, hostPrograms, nilPointers, oneName, readsProse, toolRuns, writes)

// formats are functions of other modules that go vet knows by their bodies to format
// as fmt.Printf does: all of these names.
const formats = "Errorf,Fatalf,Logf,Panicf,Printf,Skipf,PrintErrf,Sprintf,Wrapf"

const here = runtime.GOOS + "/" + runtime.GOARCH

// nested are the modules below this one whose code is the product's.
var nested = []string{"pkg/temporal"}

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // it ends soon
	}
	if err := printf.Analyzer.Flags.Set("funcs", formats); err != nil {
		panic(err) // the flag is there
	}
	platforms := os.Args[1:]
	if len(platforms) == 0 {
		platforms = []string{here}
	}
	failed := false
	for _, dir := range nested { // first: what a rule finds in all of the tree is printed with the root
		fmt.Println("vet", here, dir)
		c, err := open(dir, os.Stderr)
		ok := false
		if err == nil {
			ok, err = c.check(here)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "vet: %s: %v\n", dir, err)
		}
		failed = failed || !ok
	}
	c, err := open(".", os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "vet:", err)
		os.Exit(1)
	}
	for _, platform := range platforms {
		fmt.Println("vet", platform)
		ok, err := c.check(platform)
		if err != nil {
			fmt.Fprintf(os.Stderr, "vet: %s: %v\n", platform, err)
		}
		failed = failed || !ok || err != nil
	}
	if failed {
		os.Exit(1)
	}
}

// check reports whether the module is correct for a platform, and prints the errors.
func (c *checks) check(platform string) (bool, error) {
	goos, goarch, ok := strings.Cut(platform, "/")
	if !ok {
		return false, fmt.Errorf("%q is no platform; one is linux/arm64", platform)
	}
	env := append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
	list, err := c.load(env)
	if err != nil {
		return false, err
	}
	if c.errors(list) > 0 {
		return false, nil
	}
	others := foreign(list) // vet leaves them out
	if n, err := c.vet(goos, list); n > 0 || err != nil {
		return false, err
	}
	if platform == here {
		return true, nil // the tests build it
	}
	return true, c.link(goos+"-"+goarch, env, others)
}

// errors prints and counts the errors that keep a package of the module from compiling. Bodies of
// other modules are not read, so errors in their types are left to link.
func (c *checks) errors(list []*packages.Package) int {
	printed := map[string]bool{}
	packages.Visit(list, nil, func(p *packages.Package) {
		say := func(text string) {
			if !printed[text] {
				fmt.Fprintln(c.out, text)
			}
			printed[text] = true
		}
		if !own(p) {
			p.IllTyped = false
			return
		}
		p.IllTyped = len(p.Errors) > 0
		for _, e := range p.Errors {
			say(e.Error())
		}
		for _, f := range p.OtherFiles {
			say(f + ": assembly and C are compiled by no check; write it in Go")
		}
		for _, f := range p.Syntax {
			for _, group := range f.Comments {
				for _, line := range group.List {
					if strings.HasPrefix(line.Text, "//go:linkname ") {
						say(p.Fset.Position(line.Pos()).String() + ": go:linkname is seen by no check")
					}
				}
			}
		}
	})
	return len(printed)
}

// same reports whether a package has the files that it has on the first platform, and
// uses nothing that another platform declares otherwise: what would be found in it has been.
func (c *checks) same(p *packages.Package) bool {
	for path := range p.Imports {
		if path == "syscall" || strings.HasPrefix(path, "golang.org/x/sys/") {
			return false
		}
	}
	return slices.Equal(c.compiled[p.ID], p.CompiledGoFiles)
}

// vet prints and counts the findings of go vet in the module; on a platform after the first
// one, those in packages that are another there.
func (c *checks) vet(goos string, list []*packages.Package) (int, error) {
	tested := map[string]bool{} // those that list has with their tests too
	for _, p := range list {
		if p.ForTest != "" && p.PkgPath == p.ForTest {
			tested[p.PkgPath] = true
		}
	}
	first := len(c.compiled) == 0
	roots := slices.DeleteFunc(slices.Clone(list), func(p *packages.Package) bool {
		return !own(p) || p.ForTest == "" && tested[p.PkgPath] || !first && c.same(p)
	})
	if first {
		for _, p := range list {
			c.compiled[p.ID] = p.CompiledGoFiles
		}
	}
	packages.Visit(list, nil, func(p *packages.Package) {
		for path, dep := range p.Imports {
			if !own(dep) {
				delete(p.Imports, path) // their bodies were not read
			}
		}
	})
	graph, err := checker.Analyze(suite, roots, nil)
	if err != nil {
		return 0, err
	}
	printed := map[string]bool{}
	if goos == "linux" && len(roots) > 0 && roots[0].Module.Path == project { // where all of the tree is compiled
		for _, text := range slices.Concat(emptyRooms(), otherHints()) {
			printed[text] = true
		}
	}
	for _, action := range graph.Roots {
		if action.Err != nil {
			return 0, fmt.Errorf("%s: %w", action, action.Err)
		}
		for _, d := range action.Diagnostics {
			printed[fmt.Sprintf("%s: %s", action.Package.Fset.Position(d.Pos), d.Message)] = true
		}
	}
	for _, text := range slices.Sorted(maps.Keys(printed)) {
		fmt.Fprintln(c.out, text)
	}
	return len(printed), nil
}

// link builds all for a platform, unless that was done with the same toolchain and
// the same packages of others.
func (c *checks) link(platform string, env, others []string) error {
	version, err := c.command(env, "env", "GOVERSION")
	if err != nil {
		return err
	}
	key := sha256.New()
	_, _ = fmt.Fprintf(key, "%s%q", version, others) // a hash takes all
	done := filepath.Join(c.cache, fmt.Sprintf("linked-%s-%x", platform, key.Sum(nil)[:8]))
	if _, err := os.Stat(done); err == nil {
		return nil
	}
	if _, err := c.command(env, "build", "./..."); err != nil {
		return err
	}
	if err := os.MkdirAll(c.cache, 0o755); err != nil {
		return err
	}
	return os.WriteFile(done, nil, 0o644)
}

func (c *checks) command(env []string, args ...string) ([]byte, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env, cmd.Stderr = c.dir, env, c.out
	b, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w", args[0], err)
	}
	return b, nil
}
