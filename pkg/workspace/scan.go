package workspace

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// A census is what a tree has of names that need protection from commands. It
// is taken before and after each command, so it remembers every directory with
// the state that it was in, and reads again only those that have changed: what
// comes, goes or is renamed changes the directory that it is in.
type census struct {
	tree  string
	names *suspects
	rooms map[string]*room
	read  int           // directories read by the last count
	whole time.Time     // when all were read
	cost  time.Duration // of that
}

// A room is one directory of a census.
type room struct {
	state   roomState
	checked time.Time // when it was about to be read
	below   []passage
	gits    []named
	secret  []named
	guarded []string
}

type passage struct {
	path string
	bare bool // inside of a secret: only repositories matter
}

type named struct {
	path string
	kind fs.FileMode // its type
}

type roomState struct {
	dev, ino uint64
	changed  int64 // in nanoseconds, 0 if the system does not say
}

// settledIn is how old a change must be before a look for the look to have seen
// all of it: file systems count time in ticks.
const settledIn = 50 * time.Millisecond

// rereads is how many times its cost passes until a census is taken anew in
// whole, for file systems that do not note what changes a directory.
const rereads = 100

func newCensus(tree string, names *Names) *census {
	return &census{tree: tree, names: newSuspects(names), rooms: map[string]*room{}}
}

// count brings the census up to date.
func (c *census) count() {
	began := time.Now()
	old := c.rooms
	all := began.Sub(c.whole) > rereads*c.cost
	if all {
		old = nil
	}
	c.rooms, c.read = make(map[string]*room, len(c.rooms)), 0
	c.visit(passage{path: c.tree}, old)
	if all {
		c.whole, c.cost = began, time.Since(began)
	}
}

func (c *census) visit(p passage, old map[string]*room) {
	info, err := os.Lstat(p.path)
	if err != nil || !info.IsDir() {
		return // what we cannot see, a command cannot either
	}
	state := roomState{}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		state = roomState{uint64(st.Dev), st.Ino, ctime(st)}
	}
	r := old[p.path]
	if r == nil || r.state != state || state.changed == 0 || r.checked.Sub(time.Unix(0, state.changed)) < settledIn {
		r = c.enter(p)
		r.state = state
	}
	c.rooms[p.path] = r
	for _, b := range r.below {
		c.visit(b, old)
	}
}

// enter reads one directory.
func (c *census) enter(p passage) *room {
	c.read++
	r := &room{checked: time.Now()}
	entries, _ := os.ReadDir(p.path) // in part, if that is what can be read
	for _, e := range entries {
		at, name := filepath.Join(p.path, e.Name()), fold(e.Name())
		switch {
		case name == ".git":
			r.gits = append(r.gits, named{at, e.Type()})
		case p.bare:
			if e.IsDir() {
				r.below = append(r.below, passage{at, true})
			}
		case c.names.maybe(name) && c.names.are(c.tree, at):
			r.secret = append(r.secret, named{at, e.Type()})
			if e.IsDir() {
				r.below = append(r.below, passage{at, true})
			}
		case slices.Contains(guardedNames, name):
			if e.IsDir() || e.Type().IsRegular() {
				r.guarded = append(r.guarded, at) // nothing in it can be changed
			}
		case e.IsDir():
			r.below = append(r.below, passage{path: at})
		}
	}
	return r
}

// Suspects tell apart quickly the many names of which none is a secret. What
// they let through is judged as the file tools do.
type suspects struct {
	names *Names
	exact map[string]bool
	begin []string
	end   []string
	other []string
}

func newSuspects(n *Names) *suspects {
	s := &suspects{names: n, exact: map[string]bool{}}
	patterns := secretNames
	if n != nil {
		patterns = slices.Concat(patterns, folded(n.Deny))
	}
	for _, p := range patterns {
		p = path.Base(p)
		body := strings.Trim(p, "*")
		switch {
		case strings.ContainsAny(body, `*?[\`):
			s.other = append(s.other, p)
		case body == p:
			s.exact[p] = true
		case p == body+"*":
			s.begin = append(s.begin, body)
		case p == "*"+body:
			s.end = append(s.end, body)
		default:
			s.other = append(s.other, p)
		}
	}
	return s
}

// maybe reports whether a folded name matches the end of a pattern.
func (s *suspects) maybe(name string) bool {
	return s.exact[name] ||
		slices.ContainsFunc(s.begin, func(b string) bool { return strings.HasPrefix(name, b) }) ||
		slices.ContainsFunc(s.end, func(e string) bool { return strings.HasSuffix(name, e) }) ||
		slices.ContainsFunc(s.other, func(p string) bool { ok, _ := path.Match(p, name); return ok })
}

func (s *suspects) are(tree, at string) bool {
	rel, err := filepath.Rel(tree, at)
	if err != nil {
		return true
	}
	rel = filepath.ToSlash(rel)
	return s.names.deny(rel, rel, false) != nil
}
