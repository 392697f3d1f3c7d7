package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/types"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/types/typeutil"
)

// project is the module whose rooms these are.
const project = "github.com/adroit-run/adroit"

// product lists the rooms whose files the rule applies to, and notProduct those of them that only
// tests and the Makefile use, by the start of a path.
var (
	product    = []string{"cmd/", "configs", "internal/", "pkg/"}
	notProduct = []string{"internal/dev/"}
)

// writers may call the refused functions, each for a reason: a package or a function of one.
var writers = map[string]string{
	"internal/system/lock":   "a file that is locked has no content that counts",
	"internal/system/rootfs": "the functions that all others call",
	"pkg/jobs/sqlite":        "a store with a discipline, and a power-cut test, of its own",
	"internal/work/sandbox":  "what a command's own mounts, and the kernel's files, have: none outlives it",

	"internal/host/backup.extractFile": "into a directory that becomes the data directory when all of it is synced",
	"internal/host/backup.link":        "other names of files there",
	"pkg/models/script.append":         "a line at the end of a recording, synced; a torn one is dropped when it is read",
	"pkg/jobs.Open":                    "the operator's log, which may be a link to a terminal",
	"internal/work/ledger.commit":      "content under its digest, synced with one call before the record that needs it",
	"internal/work/ledger.shareBlob":   "hard links of that content",
	"internal/git/worktree.duplicate":  "a whole copy, synced with one call before the record of it",
}

// refused are functions that write files or give them names.
var refused = map[string][]string{
	"os":                    {"WriteFile", "Create", "Rename", "Link", "OpenFile"},
	"os.Root":               {"WriteFile", "Create", "Rename", "Link", "OpenFile"},
	"syscall":               {"Rename", "Link", "Creat"},
	"golang.org/x/sys/unix": {"Rename", "Renameat", "Renameat2", "RenamexNp", "RenameatxNp", "Link", "Linkat", "Creat"},
}

// writes finds where the product writes a file itself: a power cut leaves it empty.
var writes = &analysis.Analyzer{
	Name: "writes",
	Doc:  "report files that are written otherwise than by internal/system/rootfs, which syncs them",
	Run:  findWrites,
}

// used are the entries of writers that allowed something, and seen the rooms with a
// package.
var used, seen sync.Map

func findWrites(pass *analysis.Pass) (any, error) {
	pkg, ours := strings.CutPrefix(strings.TrimSuffix(pass.Pkg.Path(), "_test"), project+"/")
	if !ours || !isProduct(pkg) {
		return nil, nil
	}
	for _, f := range pass.Files {
		if strings.HasSuffix(pass.Fset.Position(f.Pos()).Filename, "_test.go") {
			continue
		}
		for _, d := range f.Decls {
			in := pkg
			if fn, ok := d.(*ast.FuncDecl); ok {
				in = pkg + "." + fn.Name.Name
			}
			ast.Inspect(d, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				name := refusedCall(pass.TypesInfo, call)
				if name == "" {
					return true
				}
				for _, key := range []string{pkg, in} {
					if writers[key] != "" {
						used.Store(key, true)
						return true
					}
				}
				pass.Reportf(call.Pos(), "%s: a power cut leaves such a file empty; write it with a function of internal/system/rootfs", name)
				return true
			})
		}
	}
	return nil, nil
}

// isProduct reports whether the rule applies to a package. Kits for tests have a name that ends in
// test.
func isProduct(pkg string) bool {
	for _, room := range notProduct {
		if strings.HasPrefix(pkg, room) {
			seen.Store(room, true)
			return false
		}
	}
	if name := path.Base(pkg); strings.HasSuffix(name, "test") && name != "test" {
		return false
	}
	for _, room := range product {
		if strings.HasPrefix(pkg, room) {
			seen.Store(room, true)
			return true
		}
	}
	return false
}

// refusedCall returns the name of a refused function that is called, or "". Opening a file for
// reading is allowed.
func refusedCall(info *types.Info, call *ast.CallExpr) string {
	fn, ok := typeutil.Callee(info, call).(*types.Func)
	if !ok || fn.Pkg() == nil {
		return ""
	}
	from := fn.Pkg().Path()
	if recv := fn.Signature().Recv(); recv != nil {
		t := recv.Type()
		if p, ok := t.(*types.Pointer); ok {
			t = p.Elem()
		}
		named, ok := t.(*types.Named)
		if !ok {
			return ""
		}
		from += "." + named.Obj().Name()
	}
	if !slices.Contains(refused[from], fn.Name()) {
		return ""
	}
	if fn.Name() == "OpenFile" && len(call.Args) == 3 {
		flags := info.Types[call.Args[1]].Value
		if flags != nil && flags.Kind() == constant.Int {
			if n, ok := constant.Int64Val(flags); ok && int(n)&(os.O_WRONLY|os.O_RDWR|os.O_CREATE|os.O_TRUNC|os.O_APPEND) == 0 {
				return ""
			}
		}
	}
	return from + "." + fn.Name()
}

// emptyRooms returns rooms of the rule without a package among those examined, and exceptions that
// allowed nothing: the tree was moved, or they are not needed any more.
func emptyRooms() (empty []string) {
	for _, room := range slices.Concat(product, notProduct) {
		if _, ok := seen.Load(room); !ok {
			empty = append(empty, fmt.Sprintf("writes: no package is in %s: name the room by where it is now", room))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(writers)) {
		if _, ok := used.Load(key); !ok {
			empty = append(empty, fmt.Sprintf("writes: %s writes no file itself: take it off the list", key))
		}
	}
	return empty
}
