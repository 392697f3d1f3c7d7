// Command house prints the rooms of the product, their order and their contents:
//
//	go run ./internal/dev/house
//
// A room is a folder at depth two (pkg/jobs, internal/git), an arrow says that a file of one room
// imports the other, and a floor is one above all that it imports. Tests, test kits (…test) and
// packages that serve only development (internal/dev) are left out.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

const module = "github.com/adroit-run/adroit/"

func main() {
	rooms := flag.Bool("rooms", false, "list the rooms by floor, with their packages, files and lines")
	flag.Parse()
	h, err := read(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(1)
	}
	h.print(*rooms)
}

// A house has the product's packages with their imports.
type house struct {
	packages map[string]*pack
	arrows   map[string]map[string]bool // between rooms
}

type pack struct {
	files   []int // lines of each
	imports map[string]bool
}

func room(dir string) string {
	parts := strings.SplitN(dir, "/", 3)
	if len(parts) > 2 {
		parts = parts[:2]
	}
	return strings.Join(parts, "/")
}

// product reports whether a folder is part of the product that people run and import.
func product(dir string) bool {
	for p := range strings.SplitSeq(dir, "/") {
		if p == "testdata" || strings.HasSuffix(p, "test") && p != "test" || strings.HasPrefix(p, ".") {
			return false
		}
	}
	return room(dir) != "internal/dev" && dir != "cmd/flowvet"
}

func read(root string) (*house, error) {
	h := &house{packages: map[string]*pack{}, arrows: map[string]map[string]bool{}}
	files := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || !product(filepath.Dir(path)) || filepath.Dir(path) == "." {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(files, path, b, parser.ImportsOnly)
		if err != nil {
			return err
		}
		dir := filepath.ToSlash(filepath.Dir(path))
		p := h.packages[dir]
		if p == nil {
			p = &pack{imports: map[string]bool{}}
			h.packages[dir] = p
		}
		p.files = append(p.files, strings.Count(string(b), "\n"))
		for _, s := range f.Imports {
			to, _ := strconv.Unquote(s.Path.Value)
			to, own := strings.CutPrefix(to, module)
			if !own {
				continue
			}
			p.imports[to] = true
			if from := room(dir); room(to) != from {
				if h.arrows[from] == nil {
					h.arrows[from] = map[string]bool{}
				}
				h.arrows[from][room(to)] = true
			}
		}
		return nil
	})
	imported := map[string]bool{}
	for _, p := range h.packages {
		maps.Copy(imported, p.imports)
	}
	maps.DeleteFunc(h.packages, func(dir string, _ *pack) bool { // what is only embedded is a text
		return !imported[dir] && !strings.HasPrefix(dir, "cmd/")
	})
	return h, err
}

// circles returns the sets of rooms that reach one another.
func (h *house) circles() (out [][]string) {
	reach := map[string]map[string]bool{}
	for r := range h.arrows {
		reach[r] = map[string]bool{}
		todo := []string{r}
		for len(todo) > 0 {
			n := todo[0]
			todo = todo[1:]
			for m := range h.arrows[n] {
				if !reach[r][m] {
					reach[r][m] = true
					todo = append(todo, m)
				}
			}
		}
	}
	seen := map[string]bool{}
	for _, r := range slices.Sorted(maps.Keys(reach)) {
		if seen[r] || !reach[r][r] {
			continue
		}
		var c []string
		for m := range reach[r] {
			if reach[m][r] {
				c, seen[m] = append(c, m), true
			}
		}
		slices.Sort(c)
		out = append(out, c)
	}
	return out
}

// floors numbers the rooms; the rooms of a circle share a number.
func (h *house) floors(rooms []string) map[string]int {
	in := map[string]string{}
	for _, c := range h.circles() {
		for _, r := range c {
			in[r] = c[0]
		}
	}
	floor := map[string]int{}
	for range len(rooms) {
		changed := false
		for _, r := range rooms {
			for to := range h.arrows[r] {
				if in[r] != "" && in[r] == in[to] {
					continue
				}
				if floor[r] <= floor[to] {
					floor[r], changed = floor[to]+1, true
				}
			}
			for _, o := range rooms {
				if in[r] != "" && in[o] == in[r] && floor[r] < floor[o] {
					floor[r], changed = floor[o], true
				}
			}
		}
		if !changed {
			break
		}
	}
	return floor
}

// A count is the size of the house.
type count struct {
	rooms                    []string
	floors                   map[string]int
	arrows, packages, single int // single are packages of one file
	shared                   int // names that several packages bear
	lengths                  []int
	lines                    int
	byRoom                   map[string][3]int // packages, files, lines
}

func (h *house) count() count {
	c := count{byRoom: map[string][3]int{}, packages: len(h.packages)}
	names := map[string]int{}
	for dir, p := range h.packages {
		if len(p.files) == 1 {
			c.single++
		}
		r := c.byRoom[room(dir)]
		r[0]++
		for _, n := range p.files {
			r[1], r[2], c.lines = r[1]+1, r[2]+n, c.lines+n
			c.lengths = append(c.lengths, n)
		}
		c.byRoom[room(dir)] = r
		if name := dir[strings.LastIndexByte(dir, '/')+1:]; !strings.HasPrefix(dir, "cmd/") {
			if names[name]++; names[name] == 2 {
				c.shared++
			}
		}
	}
	slices.Sort(c.lengths)
	c.rooms = slices.Sorted(maps.Keys(c.byRoom))
	c.floors = h.floors(c.rooms)
	for _, r := range c.rooms {
		c.arrows += len(h.arrows[r])
	}
	return c
}

func (h *house) print(list bool) {
	c, circles := h.count(), h.circles()
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "rooms\t%d on %d floors, %d arrows, %d circles\n", len(c.rooms), slices.Max(slices.Collect(maps.Values(c.floors)))+1, c.arrows, len(circles))
	fmt.Fprintf(w, "packages\t%d, %d of one file, %d names borne by several\n", c.packages, c.single, c.shared)
	fmt.Fprintf(w, "files\t%d, median %d lines, longest %d\n", len(c.lengths), c.lengths[len(c.lengths)/2], c.lengths[len(c.lengths)-1])
	fmt.Fprintf(w, "lines\t%d\n", c.lines)
	for _, c := range circles {
		fmt.Fprintf(w, "circle\t%s\n", strings.Join(c, " "))
	}
	if list {
		slices.SortFunc(c.rooms, func(a, b string) int {
			return cmp.Or(c.floors[b]-c.floors[a], strings.Compare(a, b))
		})
		for _, r := range c.rooms {
			n := c.byRoom[r]
			fmt.Fprintf(w, "floor %d\t%s\t%d packages\t%d files\t%d lines\n", c.floors[r], r, n[0], n[1], n[2])
		}
	}
	w.Flush()
}
