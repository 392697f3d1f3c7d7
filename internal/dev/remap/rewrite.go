package main

import (
	"fmt"
	"go/scanner"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

func (r *remap) sorted() []*file {
	var out []*file
	for _, k := range slices.Sorted(maps.Keys(r.files)) {
		out = append(out, r.files[k])
	}
	return out
}

// settleNames gives each package-level name its new one.
func (r *remap) settleNames() {
	r.names = map[object]string{}
	taken := map[string]map[string]object{}
	dirs := slices.Sorted(maps.Keys(r.decls))
	rank := func(dir string) int {
		base := strings.TrimSuffix(dir, "_test")
		if i := slices.Index(r.plan.order, base); i >= 0 {
			return i + 1
		}
		return 0
	}
	sort.SliceStable(dirs, func(i, j int) bool { return rank(dirs[i]) < rank(dirs[j]) })
	for _, pass := range []bool{true, false} { // chosen names first
		for _, dir := range dirs {
			to := r.plan.dest(dir, r.pkgNames[dir]).dir
			if taken[to] == nil {
				taken[to] = map[string]object{}
			}
			for _, name := range slices.Sorted(maps.Keys(r.decls[dir])) {
				o := object{dir, name}
				if _, ok := r.aliases[o]; ok {
					continue
				}
				chosen, ok := r.plan.names[o]
				if ok != pass {
					continue
				}
				n := name
				if ok {
					n = chosen
				}
				if other, ok := taken[to][n]; ok {
					was := n
					n = prefixed(r.pkgNames[dir], n)
					for _, ok := taken[to][n]; ok; _, ok = taken[to][n] {
						n += "2"
					}
					r.problem("name: %s:%s -> %s (%s has it)", dir, was, n, other.dir)
				}
				taken[to][n] = o
				r.names[o] = n
			}
		}
	}
	r.decls = map[string]map[string]bool{}
	for to, set := range taken {
		r.decls[to] = map[string]bool{}
		for n := range set {
			r.decls[to][n] = true
		}
	}
}

// prefixed puts the old package's name before a name.
func prefixed(pkg, name string) string {
	pkg = strings.TrimSuffix(pkg, "_test")
	first, size := utf8.DecodeRuneInString(name)
	up := string(unicode.ToUpper(first)) + name[size:]
	pup := strings.ToUpper(pkg[:1]) + pkg[1:]
	switch {
	case name == "New":
		return "New" + pup
	case strings.HasPrefix(name, "Test"), strings.HasPrefix(name, "Fuzz"):
		return name[:4] + pup + name[4:]
	case strings.HasPrefix(name, "Benchmark"), strings.HasPrefix(name, "Example"):
		n := strings.IndexFunc(name[1:], unicode.IsUpper)
		if n < 0 {
			return name + pup
		}
		return name[:n+1] + pup + name[n+1:]
	case unicode.IsUpper(first):
		return pup + name
	}
	return pkg + up
}

func (r *remap) resolve(o object) object {
	for range 5 {
		t, ok := r.aliases[o]
		if !ok {
			break
		}
		o = t
	}
	return o
}

func (r *remap) rewrite(f *file) {
	cur := r.plan.dest(f.dir, f.pkg)
	gone := func(at [2]int) bool {
		for d := range f.deleted {
			if at[0] >= d[0] && at[1] <= d[1] {
				return true
			}
		}
		return false
	}
	if cur.name != f.pkg {
		f.edits[f.clause] = cur.name
	}
	need := map[string][]use{} // by new folder
	names := map[string]string{}
	inDir := map[string]place{}
	newName := func(u use) (object, place, string) {
		t := r.resolve(u.obj)
		n, ok := r.names[t]
		if !ok {
			n = t.name
		}
		return t, r.plan.dest(t.dir, r.pkgNames[t.dir]), n
	}
	for at, u := range f.uses {
		if gone(at) || u.nameAt < 0 {
			continue
		}
		if _, to, _ := newName(u); to.dir != cur.dir {
			need[to.dir] = append(need[to.dir], u)
			inDir[to.dir] = to
		}
	}
	r.nameImports(f, cur, need, inDir, names)
	for at, u := range f.uses {
		if gone(at) {
			continue
		}
		_, to, n := newName(u)
		switch {
		case u.nameAt < 0:
			f.edits[at] = n
		case to.dir == cur.dir:
			if u.local[n] && (u.qualified || n != u.obj.name) {
				r.problem("shadow: %s: %s (%s) is a local name", f.path, n, u.obj)
			}
			f.edits[at] = n
		default:
			f.edits[at] = names[to.dir] + "." + n
		}
	}
	for d := range f.deleted {
		f.edits[d] = ""
	}
	r.imports(f, names, inDir)
	r.comments(f)
	r.strings(f, cur.dir)
}

// nameImports gives each package that a file needs a name that nothing else there has.
func (r *remap) nameImports(f *file, cur place, need map[string][]use, inDir map[string]place, names map[string]string) {
	used := map[string]bool{}
	for _, s := range f.imports {
		if _, own := folder(s.path); !own {
			n := s.name
			if n == "" {
				n = s.std
			}
			used[n] = true
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(need)) {
		to := inDir[dir]
		var cand []string
		cand = append(cand, to.name)
		for _, s := range f.imports {
			if d, own := folder(s.path); own && r.plan.dest(d, s.std).dir == dir {
				cand = append(cand, s.name, s.std)
			}
		}
		parent := filepath.Base(filepath.Dir(dir))
		cand = append(cand, parent+to.name, to.name+"s", to.name+"pkg")
		for _, c := range cand {
			if c == "" || c == "_" || c == "." || used[c] || r.decls[cur.dir][c] || slices.ContainsFunc(need[dir], func(u use) bool { return u.local[c] }) {
				continue
			}
			names[dir] = c
			break
		}
		if names[dir] == "" {
			names[dir] = to.name
			r.problem("import: %s: no name for %s", f.path, dir)
		} else if names[dir] != to.name {
			r.problem("alias: %s: %s is %s", f.path, dir, names[dir])
		}
		used[names[dir]] = true
	}
}

// imports replaces those of this module.
func (r *remap) imports(f *file, names map[string]string, inDir map[string]place) {
	var lines []string
	for _, dir := range slices.Sorted(maps.Keys(names)) {
		l := strconv.Quote(module + "/" + dir)
		if names[dir] != inDir[dir].name {
			l = names[dir] + " " + l
		}
		lines = append(lines, l)
	}
	first := true
	for _, s := range f.imports {
		d, own := folder(s.path)
		if !own {
			continue
		}
		if s.name == "_" || s.name == "." {
			f.edits[[2]int{s.start, s.end}] = s.name + " " + strconv.Quote(module+"/"+r.plan.dest(d, s.std).dir)
			continue
		}
		text := ""
		if first {
			text, first = strings.Join(lines, "\n"), false
		}
		f.edits[[2]int{s.start, s.end}] = text
	}
	if first && len(lines) > 0 {
		r.problem("import: %s: has no place for imports", f.path)
	}
}

var reference = lazyregexp.New(`\b([a-z][a-z0-9]*)\.([A-Za-z]\w*)\b`)

// comments rewrites names in comments, which the file's imports explain.
func (r *remap) comments(f *file) {
	dirs := map[string]string{}
	for _, s := range f.imports {
		if d, own := folder(s.path); own {
			n := s.name
			if n == "" {
				n = s.std
			}
			dirs[n] = d
		}
	}
	cur := r.plan.dest(f.dir, f.pkg)
	for _, at := range f.notes {
		text := string(f.src[at[0]:at[1]])
		text = reference.ReplaceAllStringFunc(text, func(m string) string {
			q, name, _ := strings.Cut(m, ".")
			d, ok := dirs[q]
			if !ok {
				return m
			}
			t := r.resolve(object{d, name})
			n, ok := r.names[t]
			if !ok {
				return m
			}
			if to := r.plan.dest(t.dir, r.pkgNames[t.dir]); to.dir != cur.dir {
				return to.name + "." + n
			}
			return n
		})
		if text != string(f.src[at[0]:at[1]]) {
			f.edits[at] = text
		}
	}
}

// strings rewrites literals that are paths to something of the tree.
func (r *remap) strings(f *file, newDir string) {
	newDir = strings.TrimSuffix(newDir, "_test")
	oldDir := strings.TrimSuffix(f.dir, "_test")
	if newDir == oldDir || !strings.HasSuffix(f.path, "_test.go") && !strings.HasPrefix(newDir, "internal/dev/") {
		return // the product names no place of its source
	}
	var s scanner.Scanner
	fs := token.NewFileSet()
	s.Init(fs.AddFile("", fs.Base(), len(f.src)), f.src, nil, 0)
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return
		}
		if tok != token.STRING {
			continue
		}
		v, err := strconv.Unquote(lit)
		if err != nil || !strings.HasPrefix(v, "../") || slices.Contains(r.plan.words, f.path) {
			continue
		}
		named, rest := v, ""
		if i := strings.IndexAny(v, "*?["); i >= 0 { // a pattern: the folder before it
			i = strings.LastIndexByte(v[:i], '/')
			named, rest = v[:i], v[i:]
		} else if strings.HasSuffix(v, "/") {
			named, rest = v[:len(v)-1], "/"
		}
		was := filepath.Join(oldDir, named)
		if _, err := os.Stat(was); err != nil {
			r.problem("path: %s: %s", f.path, lit)
			continue
		}
		rel, err := filepath.Rel(newDir, r.movedPath(was))
		if err != nil {
			continue
		}
		rel += rest
		at := int(fs.Position(pos).Offset)
		f.edits[[2]int{at, at + len(lit)}] = strconv.Quote(rel)
	}
}

// movedPath is where a path lies after the move.
func (r *remap) movedPath(path string) string {
	for d := path; d != "."; d = filepath.Dir(d) {
		if to, ok := r.plan.to[d]; ok {
			return to.dir + strings.TrimPrefix(path, d)
		}
		if _, ok := r.pkgNames[d]; ok && d != path {
			break // a package that stays
		}
	}
	return path
}

// text is the file with its edits.
func (f *file) text() string {
	keys := slices.SortedFunc(maps.Keys(f.edits), func(a, b [2]int) int {
		if a[0] != b[0] {
			return a[0] - b[0]
		}
		return b[1] - a[1]
	})
	var b strings.Builder
	at := 0
	for _, k := range keys {
		if k[0] < at {
			continue // inside another
		}
		b.Write(f.src[at:k[0]])
		b.WriteString(f.edits[k])
		at = k[1]
	}
	b.Write(f.src[at:])
	return b.String()
}

// cycles reports packages that would import one another.
func (r *remap) cycles() {
	edges := map[string]map[string]string{}
	for _, f := range r.sorted() {
		if strings.HasSuffix(f.path, "_test.go") {
			continue
		}
		from := r.plan.dest(f.dir, f.pkg).dir
		for at, u := range f.uses {
			if u.nameAt < 0 || f.edits[at] == "" {
				continue
			}
			t := r.resolve(u.obj)
			to := r.plan.dest(t.dir, "").dir
			if to == from {
				continue
			}
			if i := strings.LastIndex(to, "/internal/"); i >= 0 && from != to[:i] && !strings.HasPrefix(from, to[:i]+"/") {
				r.problem("private: %s: %s uses %s of %s", to, from, u.obj.name, f.path)
			}
			if edges[from] == nil {
				edges[from] = map[string]string{}
			}
			if edges[from][to] == "" {
				edges[from][to] = f.path + " uses " + u.obj.dir + "." + u.obj.name
			}
		}
	}
	state := map[string]int{}
	var stack []string
	var visit func(string)
	visit = func(n string) {
		state[n] = 1
		stack = append(stack, n)
		for _, m := range slices.Sorted(maps.Keys(edges[n])) {
			switch state[m] {
			case 0:
				visit(m)
			case 1:
				i := slices.Index(stack, m)
				var b strings.Builder
				for j := i; j < len(stack); j++ {
					next := m
					if j+1 < len(stack) {
						next = stack[j+1]
					}
					fmt.Fprintf(&b, "\n\t%s -> %s (%s)", stack[j], next, edges[stack[j]][next])
				}
				r.problem("cycle:%s", b.String())
			}
		}
		stack = stack[:len(stack)-1]
		state[n] = 2
	}
	for _, n := range slices.Sorted(maps.Keys(edges)) {
		if state[n] == 0 {
			visit(n)
		}
	}
}
