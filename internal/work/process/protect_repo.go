package process

import (
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/spelling"
)

// addGitFile protects a file named .git, which names its git directory. Git rewrites those of
// submodules and linked work trees that are moved, so their changes are judged afterwards. Others
// are locked.
func (p *protection) addGitFile(s *scan, f found) {
	p.backup(s, path.Dir(f.rel), ".git")
	if f.rel != ".git" {
		if b := p.backups; len(b) > 0 && b[len(b)-1].rel == f.rel {
			if to, ok := rootfs.GitDirOf(b[len(b)-1].held.Data); ok {
				if _, inside := rootfs.Joined(s.tree.Dir, path.Dir(f.rel), to); inside {
					return
				}
			}
		}
	}
	p.fixed = append(p.fixed, s.located(f))
}

// addLink records a link in the place of a file that needs protection. The link cannot be locked,
// so it is kept; its target in the tree is protected there.
func (p *protection) addLink(s *scan, f found) {
	dir, base, err := rootfs.OpenParent(s.tree.FD(), f.rel)
	if err != nil {
		return
	}
	to, err := rootfs.LinkAt(dir, base)
	unix.Close(dir)
	if err != nil {
		return
	}
	p.links[s.abs(f.rel)] = to
	if f.what != rootfs.SecretName {
		p.backup(s, path.Dir(f.rel), base)
	}
	target, ok := p.target(s, f.rel)
	if !ok {
		return
	}
	switch {
	case f.what == rootfs.GitEntry && target.kind == unix.S_IFDIR:
		p.addRepo(s, target.rel, gitBare)
	case f.what.Secret():
		p.secret = append(p.secret, s.located(target))
		p.masked = append(p.masked, s.abs(target.rel))
	case f.what.Config():
		p.fix(s, target)
		p.pinAround(s, target.rel)
	}
}

// addRepo protects a git directory, the ones of its submodules, which git reads along with the
// outer one, and the ones of its linked work trees.
func (p *protection) addRepo(s *scan, rel string, kind gitKind) {
	fd, err := rootfs.OpenBeneath(s.tree.FD(), rel)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	eachRepo(fd, rel, kind, func(fd int, rel string, kind gitKind) { p.addOne(s, fd, rel, kind) })
}

func (p *protection) addOne(s *scan, fd int, rel string, kind gitKind) {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || p.repos[rootfs.FileID(&st)] != nil {
		return
	}
	keep, err := rootfs.OpenDirAt(fd, ".")
	if err != nil {
		return
	}
	r := &gitDir{scan: s, rel: rel, fd: keep, kind: kind, had: map[string]found{}}
	p.repos[rootfs.FileID(&st)] = r
	if kind != gitWorktree { // git removes it with the work tree
		p.pinned = append(p.pinned, s.located(found{rel: rel, id: rootfs.FileID(&st)}))
	}
	if kind == gitMain && rootfs.IsGitDir(fd) {
		makeMissing(fd)
	}
	for _, name := range slices.Concat(gitNames, gitAbsent, gitDirs, []string{"gitdir"}) {
		f, link := r.entry(name)
		if f.id == (rootfs.ID{}) {
			continue
		}
		r.had[name] = f
		if link != "" {
			p.links[s.abs(f.rel)] = link
		}
		switch {
		case slices.Contains(gitDirs, name):
			if link != "" {
				p.backup(s, rel, name)
			}
		case link != "":
			p.addLink(s, f)
		case kind == gitWorktree, kind == gitModule && name == "config":
			// Git writes these when a work tree is moved.
			p.backup(s, rel, name)
		case name != "gitdir" && (f.kind == unix.S_IFREG || f.kind == unix.S_IFDIR):
			p.fixed = append(p.fixed, s.located(f))
			if p.everything {
				p.backup(s, rel, name)
			}
		}
	}
	eachInnerLink(fd, rel, func(_ int, rel, to string) {
		p.links[s.abs(rel)] = to
		p.backup(s, path.Dir(rel), path.Base(rel))
	})
	if config, err := rootfs.ReadAt(fd, "config", maxGitConfig); err == nil && kind == gitMain {
		r.hooks = rootfs.GitHooksPath(config)
		p.addHooks(s, r)
		p.addGitPlaces(s, path.Dir(rel))
	}
	r.execs = r.rebaseExecs()
}

// addGitPlaces protects what git obeys in a work tree besides its git directory.
func (p *protection) addGitPlaces(s *scan, dir string) {
	for _, at := range rootfs.GitPlaces(s.abs(dir)) {
		if rel, ok := rootfs.Joined(s.tree.Dir, ".", at); ok && rel != "." {
			p.addPlace(s, rel)
		}
	}
}

// addHooks protects the hooks that a repository's settings put elsewhere in the tree: husky's own
// files only run the hooks in the directory around them.
func (p *protection) addHooks(s *scan, r *gitDir) {
	if r.hooks == "" {
		return
	}
	rel, ok := rootfs.Joined(s.tree.Dir, path.Dir(r.rel), r.hooks)
	if !ok || rel == "." {
		return
	}
	p.addPlace(s, rel)
}

// addOwn protects those places in a tree that programs outside of the sandbox are known to obey.
func (p *protection) addOwn(s *scan) {
	for _, o := range s.tree.Owned() {
		if o.Path != "." {
			p.addPlace(s, o.Path)
		}
	}
	p.addGitPlaces(s, ".")
}

// addPlace protects a file or directory of a tree by where it is.
func (p *protection) addPlace(s *scan, rel string) {
	p.linksOn(s, rel)
	p.pinAround(s, rel)
	real, err := s.tree.Resolve(rel, rel, true)
	if err != nil || real == "." {
		return
	}
	if around := path.Dir(real); path.Base(real) == "_" && around != "." {
		real = around
	}
	dir, exists := s.lookup(real)
	dir.rel = real
	p.hooks = append(p.hooks, s.located(dir))
	if exists {
		p.fix(s, dir)
		p.pinAround(s, real)
	}
}

// A protection records the files that commands must not change in the trees that they may change,
// as found before one command. Everything is found and judged through the open directories of the
// trees.
type protection struct {
	scans []*scan

	secret []found // not to be read
	fixed  []found // not to be changed
	pinned []found // directories to be written, not to be replaced
	masked []string

	before  map[string]found      // everything that was found, by absolute name
	configs map[rootfs.ID]found   // of them, what configures programs
	links   map[string]string     // links that were there, and where they led
	repos   map[rootfs.ID]*gitDir // git directories
	hooks   []found               // directories of hooks that settings name, without an ID where there is none
	backups []backup
	lost    []string                 // what was removed or changed of repositories while the command ran, and whether it is back
	stores  map[rootfs.ID]*heldStore // what the repositories keep their history in

	everything bool // keep what must not change, where the level cannot lock it
	shared     *baseline
	left       []string // what was made or changed since a command began whose process was killed
	made       []string // git directories of the workspace that the command made
}

// share makes the protection use the state of the trees before the commands that are running
// already, and publishes that state for commands that begin later.
func (p *protection) share() error {
	for _, s := range p.shared.dead {
		p.addLeft(s)
	}
	states, err := p.shared.others()
	if err != nil {
		return err
	}
	for _, s := range states {
		p.follow(s)
	}
	own := treeState{Held: map[string]heldNode{}, Before: map[string]bool{}, Links: p.links, Repos: map[rootfs.ID]repoState{}, Unlocked: p.everything}
	for _, s := range p.scans {
		own.Trees = append(own.Trees, s.tree.Dir)
	}
	for _, k := range p.backups {
		own.Held[k.scan.abs(k.rel)] = heldNode{k.held}
	}
	for at := range p.before {
		own.Before[at] = true
	}
	for id, r := range p.repos {
		had := map[string]bool{}
		for name := range r.had {
			had[name] = true
		}
		own.Repos[id] = repoState{had, r.execs}
	}
	return p.shared.write(own)
}

// addLeft adds files that were made or changed since an earlier state. They are not put back: a
// person may have changed them since.
func (p *protection) addLeft(s *treeState) {
	for at, was := range s.Held {
		for _, t := range p.scans {
			rel, ok := rootfs.Joined(t.tree.Dir, ".", at)
			if !ok {
				continue
			}
			if now, err := (backup{scan: t, rel: rel}).now(); was.Node != nil && (err == nil && !now.same(was.Node) || errors.Is(err, errTooLarge)) {
				p.left = append(p.left, at)
			}
		}
	}
	for at, f := range p.before {
		if (f.what.Config() || f.what == rootfs.GitEntry) && s.covers(at) && !s.Before[at] {
			p.left = append(p.left, at)
		}
	}
	for id, r := range p.repos {
		was, had := s.Repos[id]
		for name, f := range r.had {
			if at := r.scan.abs(f.rel); s.covers(at) && !(had && was.Had[name]) {
				p.left = append(p.left, at)
			}
		}
		if at := r.scan.abs(path.Join(r.rel, todoFile)); had && s.covers(at) && !slices.Equal(was.Execs, r.execs) {
			p.left = append(p.left, at)
		}
	}
	slices.Sort(p.left)
	p.left = slices.Compact(p.left)
}

// maxNotes bounds how many things a note names.
const maxNotes = 20

// leftNote returns the note about left files, or "".
func (p *protection) leftNote() string {
	if len(p.left) == 0 {
		return ""
	}
	names := spelling.First(spelling.PathLines(p.left), maxNotes)
	return "made or changed since a command began whose process was killed, perhaps by it, and obeyed by git, agents, editors or other programs outside of the sandbox: " + strings.Join(names, ", ")
}

// follow removes from a protection files that did not exist in an earlier state.
func (p *protection) follow(s *treeState) {
	p.backups = slices.DeleteFunc(p.backups, func(k backup) bool {
		_, had := s.Held[k.scan.abs(k.rel)]
		return !had && s.covers(k.scan.abs(k.rel))
	})
	for i, k := range p.backups {
		if was, had := s.Held[k.scan.abs(k.rel)]; had {
			p.backups[i].held = was.Node
		}
	}
	maps.DeleteFunc(p.before, func(at string, f found) bool {
		made := s.covers(at) && !s.Before[at]
		if made {
			delete(p.configs, f.id)
		}
		return made
	})
	for at := range p.links {
		if to, had := s.Links[at]; had {
			p.links[at] = to
		} else if s.covers(at) {
			delete(p.links, at)
		}
	}
	for id, r := range p.repos {
		was, had := s.Repos[id]
		switch {
		case had:
			r.execs = was.Execs
			maps.DeleteFunc(r.had, func(name string, _ found) bool { return !was.Had[name] })
		case s.covers(r.scan.abs(r.rel)): // made since: it is judged as a new one
			unix.Close(r.fd)
			delete(p.repos, id)
		}
	}
}

// uncover leaves out files inside covered directories: nothing in there can be reached, or
// mounted.
func (p *protection) uncover() {
	inSecret := func(f found) bool {
		return slices.ContainsFunc(p.masked, func(m string) bool { return m != f.rel && rootfs.Within(m, f.rel) })
	}
	p.secret = slices.DeleteFunc(p.secret, inSecret)
	covered := func(f found) bool { return slices.Contains(p.masked, f.rel) || inSecret(f) }
	p.fixed, p.pinned = slices.DeleteFunc(p.fixed, covered), slices.DeleteFunc(p.pinned, covered)
}

func (p *protection) Close() {
	p.shared.close()
	p.shared = nil
	for _, h := range p.stores {
		h.close()
	}
	p.stores = nil
	for _, r := range p.repos {
		unix.Close(r.fd)
	}
}

// fix has a file or directory of a tree locked, or kept.
func (p *protection) fix(s *scan, f found) {
	if !f.what.Secret() { // what is covered cannot be changed
		p.fixed = append(p.fixed, s.located(f))
	}
	if p.everything {
		p.backup(s, path.Dir(f.rel), path.Base(f.rel))
	}
}

// backup keeps the file at below in the directory dir.
func (p *protection) backup(s *scan, dir, below string) {
	b := backup{scan: s, rel: path.Join(dir, below), below: below}
	fd, err := rootfs.OpenBeneath(s.tree.FD(), dir)
	if err != nil {
		return // gone since: the command finds nothing there either
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return
	}
	b.anchor = rootfs.FileID(&st)
	at, err := rootfs.OpenBeneath(fd, path.Dir(below))
	if err != nil {
		return
	}
	defer unix.Close(at)
	left := int64(maxBackup)
	if b.held, err = readNode(at, path.Base(below), &left); err == nil || b.held == nil {
		p.backups = append(p.backups, b)
	}
}

// target finds the file in the tree that a name leads to.
func (p *protection) target(s *scan, rel string) (found, bool) {
	real, err := s.tree.Resolve(rel, rel, true)
	if err != nil || real == "." {
		return found{}, false
	}
	return s.lookup(real)
}

// pinAround keeps the directories around a protected one from being replaced
// with it.
func (p *protection) pinAround(s *scan, rel string) {
	for up := path.Dir(rel); up != "."; up = path.Dir(up) {
		if f, ok := s.lookup(up); ok {
			p.pinned = append(p.pinned, s.located(f))
		}
	}
}

// linksOn keeps the links on the way to a protected name.
func (p *protection) linksOn(s *scan, rel string) {
	at := "."
	for part := range strings.SplitSeq(rel, "/") {
		at = path.Join(at, part)
		dir, base, err := rootfs.OpenParent(s.tree.FD(), at)
		if err != nil {
			return // behind a link: what is there is found by its own name
		}
		to, err := rootfs.LinkAt(dir, base)
		unix.Close(dir)
		if err == nil {
			p.links[s.abs(at)] = to
			p.backup(s, path.Dir(at), base)
		}
	}
}
