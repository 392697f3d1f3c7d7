package main

import (
	"go/types"
	"maps"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

const module = "github.com/adroit-run/adroit/"

// unnamed lists the internal types that an exported declaration may mention though no public
// package names them, because only our own packages use the declaration. The list may only get
// shorter.
var unnamed = []string{
	"internal/text/plainyaml.Places",    // agents.Source has where the keys are, for problems
	"internal/system/rootfs.State",      // workspace.Files.Keep, for what changes files
	"internal/system/rootfs.Transition", // workspace.Files.Apply, for merges
	"internal/work/ledger.Ledger",       // workspace.Open and Files.Ledger; a program passes nil
	"internal/work/ledger.Snapshot",     // workspace.Files.Watch, for agents that work on their own
	"internal/calling/extagent.Limits",  // cliagent.Config, which pkg/config fills
	"internal/calling/extagent.Session", // cliagent.Agent.Open, which the handlers call
	"internal/calling/route.Ask",        // agents.Env, which the catalog fills
	"internal/problem.Store",            // coordinator.Memory, which the host fills
	"internal/mcp.Logout",               // config.Config, which the command line opens
	"internal/text/plainyaml.Node",      // agents.Inline, as the YAML has it
	"internal/builtin/edit.Format",      // config.Config
	"internal/triggers.Notices",         // config.Config, which the command line opens
	"internal/triggers.Triggers",        // the same
	"internal/turn.Branch",              // adroit.Transcript.Branch
	"internal/turn.DirText",             // agents.Project, which the catalog reads
}

// TestNames fails when an exported declaration of a public package mentions a type
// of an internal package that no public package gives a name, by an alias: nobody
// outside could declare a variable, a parameter or a field of it.
func TestNames(t *testing.T) {
	list, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedTypes, Dir: "../../.."}, "./pkg/...")
	if err != nil {
		t.Fatal(err)
	}
	named, mentions := map[string]bool{}, map[string][]string{}
	for _, p := range list {
		if len(p.Errors) > 0 {
			t.Fatal(p.Errors)
		}
		if internal(p.PkgPath) || strings.HasSuffix(p.PkgPath, "test") {
			continue
		}
		scope := p.Types.Scope()
		for _, name := range scope.Names() {
			o := scope.Lookup(name)
			if !o.Exported() {
				continue
			}
			if of, ok := types.Unalias(o.Type()).(*types.Named); ok && o.Type() != of && internal(path(of)) {
				named[path(of)+"."+of.Obj().Name()] = true
				continue
			}
			m := mention{p.Name + "." + name, mentions}
			m.declared(o)
		}
	}
	if len(mentions) == 0 {
		t.Error("nothing was found: does the test look at the right packages?")
	}
	for _, typ := range slices.Sorted(maps.Keys(mentions)) {
		short := strings.TrimPrefix(typ, module)
		if named[typ] == slices.Contains(unnamed, short) {
			t.Errorf("%s: mentioned by %s; has a public name: %v, is excepted: %v", short, strings.Join(mentions[typ], ", "), named[typ], !named[typ])
		}
	}
	for _, short := range unnamed {
		if mentions[module+short] == nil {
			t.Errorf("%s is excepted, and nothing mentions it", short)
		}
	}
}

func internal(path string) bool { return strings.Contains(path, "/internal/") }

func path(n *types.Named) string {
	if n.Obj().Pkg() == nil {
		return ""
	}
	return n.Obj().Pkg().Path()
}

// A mention collects the internal types that a declaration mentions.
type mention struct {
	by   string
	list map[string][]string
}

func (m mention) declared(o types.Object) {
	n, ok := o.Type().(*types.Named)
	if _, isType := o.(*types.TypeName); !isType || !ok {
		m.of(o.Type())
		return
	}
	m.of(n.Underlying())
	for f := range n.Methods() {
		if f.Exported() {
			mention{m.by + "." + f.Name(), m.list}.of(f.Type())
		}
	}
}

func (m mention) of(t types.Type) {
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		if at := path(t); internal(at) {
			m.list[at+"."+t.Obj().Name()] = append(m.list[at+"."+t.Obj().Name()], m.by)
		}
		for arg := range t.TypeArgs().Types() {
			m.of(arg)
		}
	case *types.Map:
		m.of(t.Key())
		m.of(t.Elem())
	case interface{ Elem() types.Type }:
		m.of(t.Elem())
	case *types.Signature:
		for _, vars := range []*types.Tuple{t.Params(), t.Results()} {
			for v := range vars.Variables() {
				m.of(v.Type())
			}
		}
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() {
				mention{m.by + "." + f.Name(), m.list}.of(f.Type())
			}
		}
	case *types.Interface:
		for f := range t.Methods() {
			mention{m.by + "." + f.Name(), m.list}.of(f.Type())
		}
	}
}
