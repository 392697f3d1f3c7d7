// Package trust remembers which files of which directories an operator vouches
// for. Before that, nothing in a repository is configuration or instruction:
// not its agents, not its skills, not its AGENTS.md.
//
//	s, err := trust.In(dataDir).Check(dir)
//	for _, f := range s.Pending() { … }          // what a person has to look at
//	s.Trusted("AGENTS.md")                       // as it is now
//	agents := s.FS()                             // nothing but trusted files, as they were when judged
//
// Trust is given to the content of files below the real path of the top of one
// work tree. It does not pass to nested repositories, through links, to a copy
// or to a directory that was renamed, and ends when a byte changes. A .git file
// is not followed: a work tree that says it belongs to a trusted repository is
// a place of its own.
package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/configs"
	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// Bounds of what can be trusted at all.
const (
	maxFile = 1 << 20 // bytes
	maxDirs = 5000    // directories looked at for instructions
	maxText = 4 << 20 // bytes of File.Text in a status
)

// Kinds of files, in words for people.
const (
	Agent        = "agent"
	Skill        = "skill"
	Pipeline     = "pipeline"
	Stages       = "validation"
	Servers      = "MCP servers"
	Instructions = "instructions"
	Config       = "configuration"
	Command      = "command"
	problem      = "problem"
)

// A state is the operator's decision about a file.
type state string

const (
	New     state = "new"     // nobody has looked at it
	Changed state = "changed" // it was trusted or refused with other content
	Trusted state = "trusted"
	refused state = "refused"
	Never   state = "never" // it cannot be trusted: see File.Why
)

// A File is a file of configuration or instruction.
type File struct {
	Path  string `json:"path"` // below the root, with slashes
	Kind  string `json:"kind"`
	Size  int64  `json:"size"`
	Hash  string `json:"sha256,omitempty"`
	State state  `json:"state"`
	Why   string `json:"why,omitempty"` // of Never
	// Text is all of what [Status.FS] has of it; not escaped. See [Status.WithText].
	Text string `json:"text,omitempty"`
	// Unshown is of a file that is not trusted, and whose text is beyond what [Status.WithText]
	// has room for: it is decided about once the files before it are.
	Unshown bool `json:"unshown,omitempty"`
}

// A Status lists the files of a directory that can instruct agents, and which of them are
// trusted. It does not change when the directory does.
type Status struct {
	Root    string   `json:"root"` // the top of the work tree, links followed
	Dir     string   `json:"dir"`  // the directory that was asked for, likewise
	Files   []File   `json:"files"`
	Removed []string `json:"removed,omitempty"` // known files that are gone
	Partial bool     `json:"partial,omitempty"` // the tree is too large to be looked at in whole
}

// WithText returns the status with the text of its files, for the person who decides
// about them, untrusted files first. It leaves out a file that has changed since, one that
// is not text, and all beyond the first 4 MB.
func (s Status) WithText() Status {
	s.Files = slices.Clone(s.Files)
	root, err := os.OpenRoot(s.Root)
	if err != nil {
		return s
	}
	defer root.Close()
	room := maxText
	for _, trusted := range []bool{false, true} {
		for i := range s.Files {
			f := &s.Files[i]
			if f.Hash == "" || trusted != (f.State == Trusted) {
				continue
			}
			if f.Size > int64(room) {
				f.Unshown = !trusted
				continue
			}
			b, _, err := load(root, f.Path)
			if err != nil || digest(b) != f.Hash {
				continue
			}
			if text, err := rootfs.Plain(b); err == nil && len(text) <= room {
				f.Text, room = text, room-len(text)
			} else if err == nil {
				f.Unshown = !trusted
			}
		}
	}
	return s
}

// Pending are the files a person has to look at: new and changed ones.
func (s Status) Pending() []File {
	var out []File
	for _, f := range s.Files {
		if f.State == New || f.State == Changed {
			out = append(out, f)
		}
	}
	return out
}

// Open are the files that can be trusted and are not, without those that are not shown.
func (s Status) Open() []File {
	return slices.DeleteFunc(slices.Clone(s.Files), func(f File) bool { return f.State == Trusted || f.State == Never || f.Unshown })
}

// Trusted reports whether a file is trusted as it was when the status was
// made. Of a directory it reports whether everything in it is, and there is
// something. name is absolute or relative to Dir.
func (s Status) Trusted(name string) bool {
	rel, ok := s.rel(name)
	if !ok {
		return false
	}
	found := false
	for _, f := range s.Files {
		if f.Path == rel || strings.HasPrefix(f.Path, rel+"/") {
			if found = true; f.State != Trusted {
				return false
			}
		}
	}
	return found
}

// Instructions are the names below Dir of the files of that kind. It reports false where they
// are not all known: of the zero value, and of a tree too large to be looked at in whole.
func (s Status) Instructions() (names []string, all bool) {
	below, err := filepath.Rel(s.Root, s.Dir)
	if s.Dir == "" || s.Partial || err != nil {
		return nil, false
	}
	for _, f := range s.Files {
		name, err := filepath.Rel(below, filepath.FromSlash(f.Path))
		if err == nil && f.Kind == Instructions && filepath.IsLocal(name) {
			names = append(names, filepath.ToSlash(name))
		}
	}
	return names, true
}

// rel is a name below the root.
func (s Status) rel(name string) (string, bool) {
	if !filepath.IsAbs(name) {
		name = filepath.Join(s.Dir, name)
	}
	if real, err := filepath.EvalSymlinks(filepath.Dir(name)); err == nil {
		name = filepath.Join(real, filepath.Base(name))
	}
	rel, err := filepath.Rel(s.Root, name)
	if err != nil || !filepath.IsLocal(rel) || rel == "." {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// covers reports whether a path lies where the status has looked.
func (s Status) covers(p string) bool {
	below, err := filepath.Rel(s.Root, s.Dir)
	if err != nil || below == "." {
		return err == nil
	}
	below = filepath.ToSlash(below)
	around := path.Dir(p) == "." || strings.HasPrefix(below, path.Dir(p)+"/")
	return strings.HasPrefix(p, below+"/") || around && kindOf(path.Base(p)) == Instructions
}

// look lists the files of dir that would have a say.
func look(dir string) (Status, error) {
	real, err := filepath.Abs(dir)
	if err == nil {
		real, err = filepath.EvalSymlinks(real)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return Status{}, fmt.Errorf("there is no directory %s", dir)
	} else if err != nil {
		return Status{}, fmt.Errorf("looking at the project: %w", err)
	}
	st := Status{Root: top(real), Dir: real}
	root, err := os.OpenRoot(real)
	if err != nil {
		return st, fmt.Errorf("looking at the project: %w", err)
	}
	defer root.Close()
	below, err := filepath.Rel(st.Root, real)
	if err != nil {
		return st, err
	}
	found, err := walks.Find(root, real, func(s *rootfs.Seen) (named, error) { return find(s, root) })
	st.Partial = found.partial
	for _, p := range found.names { // what they contain is read each time
		f := File{Path: path.Join(filepath.ToSlash(below), p), Kind: kindOf(p)}
		if f.read(root, p); f.Kind == Config {
			f.State, f.Why = Never, "tools, approvals, the sandbox, servers, addresses and trust come from your own configuration alone"
		}
		st.Files = append(st.Files, f)
	}
	for _, d := range Around(real) {
		st.lookAt(d)
	}
	slices.SortFunc(st.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return st, err
}

// named are the names below a directory that would have a say.
type named struct {
	names   []string
	partial bool
}

var walks rootfs.Walks[named]

func find(s *rootfs.Seen, root *os.Root) (n named, err error) {
	dirs := 0
	err = s.WalkDir(root, ".", func(p string, d *rootfs.Entry, err error) error {
		if err != nil {
			if d != nil && d.IsDir() && p != "." {
				return fs.SkipDir
			}
			return err
		}
		if d.IsDir() {
			if p != "." && (skipped(p, d.Name()) || d.Has(".git")) { // the top of another repository
				return fs.SkipDir
			}
			if dirs++; dirs > maxDirs {
				n.partial = true
				return fs.SkipAll
			}
			return nil
		}
		if kindOf(p) != "" {
			n.names = append(n.names, p)
		}
		return nil
	})
	return n, err
}

// Around are the directories around one in its work tree, from the top down. What
// they say of agents counts in it as well.
func Around(dir string) (dirs []string) {
	for top := top(dir); dir != top; {
		dir = filepath.Dir(dir)
		dirs = append(dirs, dir)
	}
	slices.Reverse(dirs)
	return dirs
}

// lookAt adds the instructions in one directory around the status's directory.
func (s *Status) lookAt(dir string) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return
	}
	defer root.Close()
	below, err := filepath.Rel(s.Root, dir)
	if err != nil {
		return
	}
	for _, name := range []string{"AGENTS.md", "CLAUDE.md"} {
		if _, err := root.Lstat(name); err == nil {
			f := File{Path: path.Join(filepath.ToSlash(below), name), Kind: Instructions}
			f.read(root, name)
			s.Files = append(s.Files, f)
		}
	}
}

// top is the top of the work tree that a directory belongs to, the directory
// itself outside a repository. Only that .git is there counts, not what it says.
func top(dir string) string {
	if top, ok := rootfs.Repository(dir); ok {
		return top
	}
	return dir
}

// skipped are directories without the project's own words.
func skipped(p, name string) bool {
	if strings.HasPrefix(p, ".adroit/") || strings.HasPrefix(p, ".claude/skills/") || strings.HasPrefix(p, ".claude/agents/") {
		return false
	}
	return slices.Contains([]string{".git", ".hg", ".svn", "node_modules", "vendor", "__pycache__", ".venv", "venv", ".tox", ".cache", "target"}, name)
}

// kindOf reports what a file below the workspace would be, "" if nothing.
func kindOf(p string) string {
	switch base := path.Base(p); { // most files are neither
	case base == "AGENTS.md", base == "CLAUDE.md":
	case p[0] != '.':
		return ""
	}
	in := func(dir, suffix string) bool {
		name, ok := strings.CutPrefix(p, dir+"/")
		return ok && configs.Defines(name, suffix, dir == configs.ClaudeAgents)
	}
	switch {
	case in(configs.AgentsDir, ".md"), in(configs.ClaudeAgents, ".md"):
		return Agent
	case in(configs.PipelinesDir, ".yaml"):
		return Pipeline
	case strings.HasPrefix(p, ".adroit/skills/"), strings.HasPrefix(p, ".claude/skills/"):
		return Skill
	case in(".adroit/commands", ".md"):
		return Command
	case in(configs.Problems, ".yaml"):
		return problem
	case p == ".adroit/validation.yaml":
		return Stages
	case p == ".mcp.json":
		return Servers
	case strings.HasPrefix(p, ".adroit/config"):
		return Config
	case path.Base(p) == "AGENTS.md", path.Base(p) == "CLAUDE.md":
		return Instructions
	}
	return ""
}

// read hashes a file. What it is does not depend on anything outside it: a
// link is never trusted.
func (f *File) read(root *os.Root, p string) {
	b, size, err := load(root, p)
	f.Size = size
	if err != nil {
		f.State, f.Why = Never, err.Error()
		return
	}
	if _, err := rootfs.Plain(b); err != nil && !f.isSkillMaterial() {
		f.State, f.Why = Never, err.Error() // nobody could see what they trust
		return
	}
	f.Hash = digest(b)
}

// isSkillMaterial reports whether a file is the material of a skill. Readers skip
// material that is not text.
func (f *File) isSkillMaterial() bool { return f.Kind == Skill && path.Base(f.Path) != "SKILL.md" }

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

var (
	errLink  = errors.New("it is a link or no plain file")
	errLarge = fmt.Errorf("it is larger than %d KB", maxFile>>10)
)

// load reads a plain file whole.
func load(root *os.Root, p string) ([]byte, int64, error) {
	info, err := root.Lstat(p)
	if err != nil {
		return nil, 0, err
	}
	if !info.Mode().IsRegular() {
		return nil, 0, errLink
	}
	if info.Size() > maxFile {
		return nil, info.Size(), errLarge
	}
	in, err := root.Open(p)
	if err != nil {
		return nil, 0, err
	}
	defer in.Close()
	now, err := in.Stat()
	if err != nil {
		return nil, 0, err
	}
	if !os.SameFile(info, now) {
		return nil, 0, errLink // it was replaced while it was looked at
	}
	b, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	if err == nil && len(b) > maxFile {
		err = errLarge
	}
	return b, int64(len(b)), err
}
