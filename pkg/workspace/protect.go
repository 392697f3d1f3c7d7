package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// findings are what in a workspace needs protection from commands.
type findings struct {
	names  *Names
	secret []string          // not to be read
	fixed  []string          // not to be changed
	repos  []string          // git directories: to be written, not replaced
	absent []string          // not to be made
	around []string          // directories around what is fixed: to be written, not replaced
	counts []*census         // where all this was looked for
	strays []string          // repositories inside of secrets
	links  map[string]string // of the name .git, to where they lead
}

// In a git directory, these make git run something or read settings from
// somewhere else. Those of the first list are made if they are not there,
// empty, which git takes for not there: then they can be protected.
var (
	gitFixed  = []string{"config", "config.worktree", "hooks/", "info/attributes"}
	gitAbsent = []string{"commondir"}
)

// look goes through trees that commands may change. counts has the earlier
// looks, by tree, and keeps this one.
func look(trees []string, names *Names, counts map[string]*census) *findings {
	f := &findings{names: names, links: map[string]string{}}
	seen := map[string]bool{}
	for _, tree := range trees {
		if seen[tree] {
			continue
		}
		seen[tree] = true
		if isGitDir(tree) {
			f.repository(tree)
			continue
		}
		for _, name := range guardedNames {
			if p := filepath.Join(tree, name); !exists(p) {
				f.absent = append(f.absent, p)
			}
		}
		if p := filepath.Join(tree, ".git"); !exists(p) {
			f.absent = append(f.absent, p)
		}
		c := counts[tree]
		if c == nil {
			c = newCensus(tree, names)
			counts[tree] = c
		}
		f.counts = append(f.counts, c)
		c.count()
		for _, dir := range slices.Sorted(maps.Keys(c.rooms)) {
			f.add(tree, c.rooms[dir])
		}
	}
	return f
}

func (f *findings) add(tree string, r *room) {
	for _, g := range r.gits {
		switch {
		case slices.ContainsFunc(f.secret, func(s string) bool { return within(s, g.path) }):
			f.strays = append(f.strays, g.path)
		case g.kind.IsDir():
			f.repository(g.path)
			f.hooks(tree, g.path)
		case g.kind.IsRegular(): // it says where the repository is
			f.fixed = append(f.fixed, g.path)
		default:
			f.links[g.path], _ = os.Readlink(g.path)
			if to, err := filepath.EvalSymlinks(g.path); err == nil && within(tree, to) && isGitDir(to) {
				f.repository(to)
			}
		}
	}
	for _, s := range r.secret {
		if s.kind&fs.ModeSymlink != 0 {
			// The link gives nothing away; what it leads to, here, does.
			target, err := filepath.EvalSymlinks(s.path)
			if err != nil || !within(tree, target) || target == tree {
				continue
			}
			s.path = target
		}
		f.secret = append(f.secret, s.path)
	}
	f.fixed = append(f.fixed, r.guarded...)
}

// hooks protects the hooks that a repository's settings put elsewhere in the tree.
func (f *findings) hooks(tree, repo string) {
	for _, dir := range hookDirs(tree, hooksIn(repo)) {
		if exists(dir) {
			f.fixed = append(f.fixed, dir)
			for up := filepath.Dir(dir); up != tree && within(tree, up); up = filepath.Dir(up) {
				f.around = append(f.around, up)
			}
		} else {
			f.absent = append(f.absent, dir)
		}
	}
}

func isGitDir(dir string) bool {
	head, err := os.Lstat(filepath.Join(dir, "HEAD"))
	return err == nil && !head.IsDir() && exists(filepath.Join(dir, "objects"))
}

func (f *findings) repository(dir string) {
	f.repos = append(f.repos, dir)
	for _, name := range gitFixed {
		p := filepath.Join(dir, name)
		if _, err := os.Lstat(p); err != nil && isGitDir(dir) {
			if strings.HasSuffix(name, "/") {
				err = os.Mkdir(p, 0o755)
			} else if err = os.MkdirAll(filepath.Dir(p), 0o755); err == nil {
				err = os.WriteFile(p, nil, 0o644)
			}
			if err != nil {
				f.absent = append(f.absent, p)
				continue
			}
		}
		if exists(p) {
			f.fixed = append(f.fixed, p)
		}
	}
	for _, name := range gitAbsent {
		if p := filepath.Join(dir, name); !exists(p) {
			f.absent = append(f.absent, p)
		}
	}
	f.modules(filepath.Join(dir, "modules"))
	// Those of linked work trees say where their settings are.
	trees, _ := os.ReadDir(filepath.Join(dir, "worktrees"))
	for _, t := range trees {
		for _, name := range []string{"commondir", "gitdir", "config.worktree"} {
			if p := filepath.Join(dir, "worktrees", t.Name(), name); exists(p) {
				f.fixed = append(f.fixed, p)
			}
		}
	}
}

// modules looks after the repositories of submodules, which may have slashes in
// their names: git reads their settings when it is asked about the one around.
func (f *findings) modules(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if sub := filepath.Join(dir, e.Name()); e.IsDir() && isGitDir(sub) {
			f.repository(sub)
		} else if e.IsDir() {
			f.modules(sub)
		}
	}
}

// strangers lists the git directories, and the files that stand for one, that
// were not there to be protected. They matter wherever they are: with an entry in
// the index, git status of the repository around one asks the one inside.
func (f *findings) strangers() []string {
	var out []string
	for _, c := range f.counts {
		c.count()
		for _, dir := range slices.Sorted(maps.Keys(c.rooms)) {
			for _, g := range c.rooms[dir].gits {
				to, linked := f.links[g.path]
				now, _ := os.Readlink(g.path)
				if same := linked && now == to; !same && !slices.Contains(f.repos, g.path) && !slices.Contains(f.fixed, g.path) && !slices.Contains(f.strays, g.path) {
					out = append(out, g.path)
				}
			}
		}
	}
	return out
}

// A vigil is what was there before a command, to compare with after it.
type vigil struct {
	found  *findings
	absent []string
	kept   []keepsake // where the level does not lock what must not change
}

// A keepsake is a file or a small tree as it was.
type keepsake struct {
	path  string
	files map[string]kept
	whole bool // all of it is here
}

type kept struct {
	mode fs.FileMode
	data []byte
}

// maxKept bounds one keepsake, in bytes.
const maxKept = 4 << 20

func begin(f *findings, keep bool) (*vigil, error) {
	v := &vigil{found: f, absent: f.absent}
	if !keep {
		return v, nil
	}
	for _, p := range f.fixed {
		v.kept = append(v.kept, remembered(p))
	}
	return v, nil
}

func remembered(path string) keepsake {
	k := keepsake{path: path, files: map[string]kept{}, whole: true}
	size := 0
	_ = filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return nil
		}
		var data []byte
		switch {
		case d.Type().IsRegular():
			if size += int(min(info.Size(), maxKept+1)); size > maxKept {
				k.whole = false
				return fs.SkipAll
			}
			if data, err = os.ReadFile(p); err != nil {
				return nil
			}
		case d.Type()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(p)
			data = []byte(to)
		}
		k.files[p] = kept{info.Mode(), data}
		return nil
	})
	return k
}

func (k keepsake) same(o keepsake) bool {
	if len(k.files) != len(o.files) {
		return false
	}
	for p, a := range k.files {
		if b, ok := o.files[p]; !ok || a.mode != b.mode || !bytes.Equal(a.data, b.data) {
			return false
		}
	}
	return true
}

// end puts aside what must not be there, into dir, and puts back what must not
// have changed. It returns what it did in words for the reader of the output.
func (v *vigil) end(dir string, number *int) string {
	var notes []string
	for _, p := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(v.absent, v.found.strangers())))) {
		for _, bad := range unwanted(p) {
			if err := aside(bad, dir, number); err != nil {
				notes = append(notes, fmt.Sprintf("%s was made by the command, may run code on this machine, and could not be taken away: %v", bad, err))
				continue
			}
			notes = append(notes, fmt.Sprintf("%s was made by the command and taken away, since it configures programs that run outside of the sandbox", bad))
		}
	}
	for _, k := range v.kept {
		now := remembered(k.path)
		if now.same(k) {
			continue
		}
		if !k.whole {
			notes = append(notes, k.path+" was changed by the command and was too large to put back; look at it before you trust it")
			continue
		}
		err := error(nil)
		if exists(k.path) {
			err = aside(k.path, dir, number)
		}
		if err == nil {
			err = k.restore()
		}
		if err != nil {
			notes = append(notes, fmt.Sprintf("%s was changed by the command and could not be put back: %v", k.path, err))
			continue
		}
		notes = append(notes, k.path+" was changed by the command and put back, since it configures programs that run outside of the sandbox")
	}
	return strings.Join(notes, "; ")
}

func (k keepsake) restore() error {
	for _, p := range slices.Sorted(maps.Keys(k.files)) { // parents first
		f := k.files[p]
		var err error
		switch {
		case f.mode.IsDir():
			err = os.Mkdir(p, f.mode.Perm())
		case f.mode&fs.ModeSymlink != 0:
			err = os.Symlink(string(f.data), p)
		case f.mode.IsRegular():
			err = os.WriteFile(p, f.data, f.mode.Perm())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unwanted is what of a path that did not exist must go. A new repository may
// stay, as git init makes it.
func unwanted(path string) []string {
	info, err := os.Lstat(path)
	if err != nil {
		return nil
	}
	if filepath.Base(path) != ".git" || !info.IsDir() {
		return []string{path}
	}
	var out []string
	for _, name := range append([]string{"commondir", "config.worktree", "info/attributes"}, "config") {
		p := filepath.Join(path, name)
		if exists(p) && (name != "config" || !plainConfig(p)) {
			out = append(out, p)
		}
	}
	hooks, _ := os.ReadDir(filepath.Join(path, "hooks"))
	for _, h := range hooks {
		if !strings.HasSuffix(h.Name(), ".sample") {
			out = append(out, filepath.Join(path, "hooks", h.Name()))
		}
	}
	if info, err := os.Lstat(filepath.Join(path, "hooks")); err == nil && !info.IsDir() {
		out = append(out, filepath.Join(path, "hooks"))
	}
	return out
}

var plainSections = []string{"[core]", "[user]"}

// plainConfig reports whether a repository's settings are of the kind that git
// init writes, and who commits.
func plainConfig(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 64<<10 {
		return false
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	section := ""
	for line := range strings.Lines(string(b)) {
		line = strings.ToLower(strings.TrimSpace(line))
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if line[0] == '[' {
			// A setting may stand behind its section on the same line.
			if section = line; !slices.Contains(plainSections, section) {
				return false
			}
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		switch section + strings.TrimSpace(key) {
		case "[core]repositoryformatversion", "[core]filemode", "[core]bare", "[core]logallrefupdates", "[core]ignorecase", "[core]precomposeunicode", "[core]symlinks",
			"[user]name", "[user]email":
			if strings.HasSuffix(value, `\`) { // it goes on in the next line
				return false
			}
		default:
			return false
		}
	}
	return true
}

// aside moves path into dir. It never follows a link.
func aside(path, dir string, number *int) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for {
		*number++
		to := filepath.Join(dir, fmt.Sprintf("%d-%s", *number, filepath.Base(path)))
		if exists(to) {
			continue
		}
		if err := os.Rename(path, to); !errors.Is(err, syscall.EXDEV) {
			return err
		}
		if err := copied(path, to); err != nil {
			return err
		}
		return os.RemoveAll(path)
	}
}

// copied copies a file or a tree to another file system, so that whoever made
// it after all has it. Links are not worth that.
func copied(path, to string) error {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return os.CopyFS(to, os.DirFS(path))
	case !info.Mode().IsRegular():
		return nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o600)
}
