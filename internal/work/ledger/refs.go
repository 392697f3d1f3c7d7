package ledger

import (
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // as git names content
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"golang.org/x/sys/unix"
)

// unread is the value of a reference that exists and cannot be read.
const unread = "?"

// operationFiles maps files of a git directory that exist while an operation is in progress to the
// command that ends it without changing files.
var operationFiles = map[string]string{
	"MERGE_HEAD": "git merge --quit", "CHERRY_PICK_HEAD": "git cherry-pick --quit", "REVERT_HEAD": "git revert --quit",
	"rebase-merge": "git rebase --quit", "rebase-apply": "git rebase --quit", "BISECT_LOG": "git bisect reset HEAD",
	"sequencer": "git cherry-pick --quit",
}

// ownRefs are references that each work tree has for itself, about its operation in progress.
var ownRefs = []string{"refs/bisect", "refs/worktree", "refs/rewritten"}

const (
	maxRef    = 4 << 10
	maxPacked = 256 << 20
)

// A refState has the references of a repository at one moment, with the HEAD, the index and the
// operation of one work tree. A value is the ID of a commit or tag, or "ref: " and a name.
type refState struct {
	Dir    string    `json:"dir"`              // the git directory of the work tree
	Common string    `json:"common"`           // that of the repository
	Only   string    `json:"only,omitempty"`   // what the names of all that count begin with
	Others []string  `json:"others,omitempty"` // what those of other jobs' branches begin with
	Loose  []refPair `json:"loose,omitempty"`
	Packed string    `json:"packed,omitempty"` // digest of the file with the others
	Index  string    `json:"index,omitempty"`  // digest of what is staged
	Held   string    `json:"held,omitempty"`   // digest of the index's content, if it is kept with the state
	Began  int       `json:"began,omitempty"`  // moves that the ledger had
	Files  []refPair `json:"files,omitempty"`  // see GitFile; nil: not read

	packed  map[string]string
	content map[string][]byte // of Files, while the state is in memory
}

type refPair struct {
	Name  rootfs.RawName `json:"name"`
	Value string         `json:"value"`
}

// readRefs reads the references of the repository that contains a tree, or nil if there is none or
// it is not the tree's own. It does not run git, unless the repository keeps them in tables. keep
// makes the ledger keep the content of the digests in the state.
func (b *log) readRefs(ctx context.Context, t *rootfs.Tree, x *gitIndex, keep bool) (*refState, error) {
	top, _, ok := t.Repository()
	if !ok {
		return nil, nil
	}
	return b.refsOf(ctx, top, x, keep)
}

// refsOf is readRefs for a work tree.
func (b *log) refsOf(ctx context.Context, top string, x *gitIndex, keep bool) (*refState, error) {
	s := &refState{}
	var err error
	if s.Dir, s.Common, err = rootfs.GitDirs(top); err != nil {
		return nil, nil // commands do not see it either
	}
	own, err := openGitDir(s.Dir)
	if err != nil {
		return nil, err
	}
	defer unix.Close(own)
	common, err := openGitDir(s.Common)
	if err != nil {
		return nil, err
	}
	defer unix.Close(common)
	loose := map[string]string{}
	if st, terr := rootfs.StatAt(common, "reftable"); terr == nil && rootfs.TypeOf(&st) == unix.S_IFDIR {
		err = tableRefs(ctx, s.Dir, loose)
	} else {
		loose["HEAD"] = refAt(own, "HEAD")
		if err = looseRefs(common, "refs", loose); err == nil {
			err = b.readPacked(common, s, keep)
		}
	}
	if err != nil {
		return nil, err
	}
	for name := range operationFiles {
		if _, err := rootfs.StatAt(own, name); err == nil {
			loose[name] = UnderWay
		}
	}
	for _, name := range slices.Sorted(maps.Keys(loose)) {
		s.Loose = append(s.Loose, refPair{rootfs.RawName(name), loose[name]})
	}
	var data []byte
	if s.Index, data = stagedAt(ctx, s.Dir, own, x); keep && data != nil && len(data) <= MaxKeep && b.Store(data) == nil {
		s.Held = rootfs.Digest(data)
	}
	s.jobs(own, common, loose["HEAD"])
	s.readFiles(own, common)
	return s, nil
}

func openGitDir(dir string) (int, error) {
	return unix.Open(filepath.FromSlash(dir), rootfs.PathOnly|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
}

// refAt returns the value of a reference that is a file of its own.
func refAt(dir int, name string) string {
	if to, err := rootfs.LinkAt(dir, name); err == nil {
		return "ref: " + strings.ToValidUTF8(to, unread) // as git had it once, or it is none
	}
	b, err := rootfs.ReadAt(dir, name, maxRef)
	if err != nil {
		return unread
	}
	line, _, _ := bytes.Cut(b, []byte("\n"))
	return strings.TrimSpace(strings.ToValidUTF8(string(line), unread))
}

// looseRefs adds the references below a directory.
func looseRefs(up int, rel string, into map[string]string) error {
	dir, err := rootfs.OpenDirAt(up, path.Base(rel))
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	entries, err := rootfs.ListAt(dir)
	for _, e := range entries {
		at := rel + "/" + e.Name()
		switch {
		case err != nil:
			return err
		case strings.HasPrefix(e.Name(), ".") || slices.Contains(ownRefs, at):
		case isLock(e.Name()):
			into[at], _ = gitFileAt(dir, e.Name())
		case e.IsDir():
			err = looseRefs(dir, at, into)
		case len(into) < rootfs.MaxNames:
			into[at] = refAt(dir, e.Name())
		}
	}
	return err
}

// readPacked reads the references that lie in one file, if that has changed.
func (b *log) readPacked(common int, s *refState, keep bool) error {
	st, err := rootfs.StatAt(common, "packed-refs")
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	file, stamp := path.Join(s.Common, "packed-refs"), stampFrom(&st)
	b.mu.Lock()
	p := b.packed[file]
	b.mu.Unlock()
	known := p != nil && p.stamp == stamp
	if !known || keep && !rootfs.Exists(b.blobPath(p.digest)) {
		data, err := rootfs.ReadAt(common, "packed-refs", maxPacked)
		if err != nil {
			return err
		}
		if !Packed(data) {
			return errors.New("packed-refs has a line that git does not read")
		}
		p = &packedRefs{stamp: stamp, digest: rootfs.Digest(data), values: parsePacked(data)}
		if keep {
			if err := b.Store(data); err != nil {
				return err
			}
		}
		b.mu.Lock()
		if b.packed == nil {
			b.packed = map[string]*packedRefs{}
		}
		if delete(b.packed, file); stamp.settled(time.Now()) {
			b.packed[file] = p
		}
		b.mu.Unlock()
	}
	s.Packed, s.packed = p.digest, p.values
	return nil
}

// Packed reports whether git can read the file of packed references: it refuses to do anything with one that has
// another line.
func Packed(data []byte) bool {
	for line := range bytes.Lines(data) {
		id, name, ok := bytes.Cut(bytes.TrimPrefix(line, []byte("^")), []byte(" "))
		peeled := line[0] == '^' && !ok && isID(strings.TrimSuffix(string(id), "\n"))
		if line[len(line)-1] != '\n' || !bytes.HasPrefix(line, []byte("# pack-refs with:")) && !peeled && (!isID(string(id)) || !bytes.HasPrefix(name, []byte("refs/"))) {
			return false
		}
	}
	return true
}

func parsePacked(data []byte) map[string]string {
	values := map[string]string{}
	for line := range strings.Lines(string(data)) {
		id, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if ok && line[0] != '#' && line[0] != '^' {
			values[name] = id
		}
	}
	return values
}

// tableRefs adds the references of a repository that has no files for them.
func tableRefs(ctx context.Context, dir string, into map[string]string) error {
	ask := func(args ...string) (string, error) {
		var out bytes.Buffer
		err := rootfs.RunGit(ctx, dir, nil, nil, &out, append([]string{"--git-dir=" + dir}, args...)...)
		return strings.TrimSuffix(out.String(), "\n"), err
	}
	all, err := ask("for-each-ref", "--format=%(refname) %(objectname) %(symref)")
	if err != nil {
		return err
	}
	for line := range strings.SplitSeq(all, "\n") {
		f := strings.Split(line, " ")
		switch {
		case len(f) != 3 || slices.ContainsFunc(ownRefs, func(o string) bool { return rootfs.Within(o, f[0]) }):
		case f[2] != "":
			into[f[0]] = "ref: " + f[2]
		default:
			into[f[0]] = f[1]
		}
	}
	if name, err := ask("symbolic-ref", "-q", "HEAD"); err == nil {
		into["HEAD"] = "ref: " + name
		return nil
	}
	into["HEAD"], err = ask("rev-parse", "HEAD")
	return err
}

// jobs finds the references that belong to jobs in work trees of their own: a command changes only
// those of its own work tree.
func (s *refState) jobs(own, common int, head string) {
	if s.Dir != s.Common {
		s.Only = inUse(common, head)
	}
	for _, head := range otherHeads(s.Dir, s.Common, own, common) {
		if other := inUse(common, head); other != "" && other != s.Only && !slices.Contains(s.Others, other) {
			s.Others = append(s.Others, other)
		}
	}
	slices.Sort(s.Others)
}

// inUse returns what the names of a job's branches begin with, "" if a HEAD is not on one of them.
func inUse(common int, head string) string {
	branch, ok := strings.CutPrefix(head, "ref: ")
	if !ok || !strings.HasPrefix(branch, "refs/heads/") || path.Clean(branch) != branch {
		return ""
	}
	dir, _, err := rootfs.OpenParent(common, branch)
	if err != nil {
		return ""
	}
	defer unix.Close(dir)
	if _, err := rootfs.StatAt(dir, rootfs.GitInUse); err != nil {
		return ""
	}
	return path.Dir(branch) + "/"
}

// otherHeads returns the HEADs of the other work trees of a repository, by their git directories.
func otherHeads(dir, repo string, own, common int) map[string]string {
	heads := map[string]string{}
	if dir != repo && !bare(common) {
		heads[repo] = refAt(common, "HEAD")
	}
	var st unix.Stat_t
	if unix.Fstat(own, &st) != nil {
		return heads
	}
	rootfs.EachDir(common, "worktrees", func(fd int, name string) {
		if !rootfs.SameDir(fd, rootfs.FileID(&st)) {
			heads[path.Join(repo, "worktrees", name)] = refAt(fd, "HEAD")
		}
	})
	return heads
}

// bare reports whether a repository is configured to have no work tree of its own.
func bare(common int) bool {
	for _, name := range []string{"config", "config.worktree"} {
		b, err := rootfs.ReadAt(common, name, 1<<20)
		if err != nil {
			continue
		}
		settings, _ := rootfs.GitSettings(b)
		for _, s := range settings {
			if s.Section == "core" && s.Key == "bare" && rootfs.GitSettingValue(s.Value) == "true" {
				return true
			}
		}
	}
	return false
}

// stagedAt returns the digest of the staged changes, "" if there are none, unread if nothing reads the
// index, and its content. x is the index if it has been read before; then there is no content.
func stagedAt(ctx context.Context, dir string, own int, x *gitIndex) (string, []byte) {
	st, err := rootfs.StatAt(own, "index")
	switch {
	case errors.Is(err, unix.ENOENT):
		return "", nil
	case err != nil || rootfs.TypeOf(&st) != unix.S_IFREG:
		return unread, nil
	case x != nil && x.now == stampFrom(&st):
		return x.staged, nil
	}
	b, err := rootfs.ReadAt(own, "index", maxPacked)
	if err != nil {
		return unread, nil
	}
	return stagedIn(ctx, dir, "index", b), b
}

// stagedIn returns the digest of what an index stages, whose content lies in a file of the git directory, unread if
// nothing reads it. Git reads a sparse index, and one that has the rest in another file.
func stagedIn(ctx context.Context, dir, file string, b []byte) string {
	for _, size := range []int{sha1.Size, sha256.Size} {
		if len(b) < size {
			continue
		}
		content, end := b[:len(b)-size], string(b[len(b)-size:])
		sum1, sum256 := sha1.Sum(content), sha256.Sum256(content)
		none := strings.Trim(end, "\x00") == "" // index.skipHash
		if x, err := parseIndex(b, "", size); err == nil && (none || end == string(sum1[:]) || end == string(sum256[:])) {
			return x.staged
		}
	}
	list := rootfs.LimitedBuffer{Max: maxPacked} // a few bytes of an index may be a name of thousands
	if err := rootfs.RunGit(ctx, dir, []string{"GIT_INDEX_FILE=" + path.Join(dir, file)}, nil, &list, "--git-dir="+dir, "ls-files", "-z", "-s", "-v", "--sparse"); err != nil || list.Truncated {
		return unread
	}
	out := &list.Buffer
	staged := sha256.New() // as parseIndex has it: git changes the form of an index when it likes
	for out.Len() > 0 {
		entry, _ := out.ReadString(0)
		facts, name, _ := strings.Cut(entry, "\t")
		f := strings.Fields(facts) // the tag, the mode, the ID, the stage
		if len(f) != 4 {
			return unread
		}
		mode, _ := strconv.ParseUint(f[1], 8, 32)
		oid, _ := hex.DecodeString(f[2])
		flags, _ := strconv.ParseUint(f[3], 10, 2)
		if flags <<= 28; f[0] == strings.ToLower(f[0]) {
			flags |= 0x8000_0000
		}
		if strings.EqualFold(f[0], "S") {
			flags |= 0x4000
		}
		staged.Write(append(binary.BigEndian.AppendUint32(nil, uint32(mode)), oid...))
		staged.Write(append(binary.BigEndian.AppendUint32(nil, uint32(flags)), name...))
	}
	return hex.EncodeToString(staged.Sum(nil))
}

// values returns the values of all references.
func (s *refState) values() map[string]string {
	all := maps.Clone(s.packed)
	if all == nil {
		all = map[string]string{}
	}
	for _, r := range slices.Concat(s.Loose, s.Files) {
		all[string(r.Name)] = r.Value
	}
	all[IndexRef] = s.Index
	return all
}

// counts reports whether a command of the work tree can have moved a reference.
func (s *refState) counts(name string) bool {
	if !strings.HasPrefix(name, "refs/") {
		return true // of the work tree by itself
	}
	return strings.HasPrefix(name, s.Only) && !slices.ContainsFunc(s.Others, func(o string) bool { return strings.HasPrefix(name, o) })
}

// moved returns the names of the references that differ in another state, sorted.
func (s *refState) moved(now *refState) (names []string, was, is map[string]string) {
	if s.Files == nil { // noted by an older version
		plain := *now
		plain.Files = nil
		now = &plain
	}
	if s.Packed == now.Packed && s.Index == now.Index && slices.Equal(s.Loose, now.Loose) && slices.Equal(s.Files, now.Files) {
		return nil, nil, nil
	}
	was, is = s.values(), now.values()
	all := maps.Clone(was)
	maps.Copy(all, is)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if was[name] != is[name] && s.counts(name) && (name != reflogs || is[name] == "") { // git makes them
			names = append(names, name)
		}
	}
	return names, was, is
}

// load reads the content for the digests in a stored state.
func (s *refState) load(b *log) error {
	if s.Packed == "" || s.packed != nil {
		return nil
	}
	data, err := b.Load(s.Packed)
	if err == nil {
		s.packed = parsePacked(data)
	} else if errors.Is(err, fs.ErrNotExist) || os.IsNotExist(err) {
		err = errDamaged
	}
	return err
}

// maxCommits bounds how many commits are listed.
const maxCommits = 200

// A Commit is a commit that only a job's references have.
type Commit = struct {
	ID      string `json:"id"`
	Subject string `json:"subject"`
	// Guarded are its files that programs outside of the sandbox run or obey once they are
	// checked out, Unlisted those that are not among the files that the job changed.
	Guarded  []string `json:"guarded,omitempty"`
	Unlisted []string `json:"unlisted,omitempty"`
}

// Commits returns the commits of the selection, the newest first: those reachable from the
// references that it moved, and not reachable before. It is an error if git no longer has them.
func (p Selection) Commits(ctx context.Context, root string) ([]Commit, error) {
	refs, err := p.Refs(ctx)
	if err != nil || len(refs) == 0 {
		return nil, err
	}
	changes, err := p.Changes(ctx)
	if err != nil {
		return nil, err
	}
	t, err := rootfs.Open(root)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	_, sub, ok := t.Repository()
	if !ok {
		return nil, nil
	}
	var after, before []string
	for _, r := range refs {
		if r.Path == IndexRef {
			continue
		}
		if isID(r.After) {
			after = append(after, r.After)
		}
		if isID(r.Before) {
			before = append(before, r.Before)
		}
		if strings.HasPrefix(r.Path, "refs/") {
			before = append(before, "--exclude="+r.Path)
		}
	}
	if len(after) == 0 {
		return nil, nil
	}
	args := slices.Concat([]string{"log", "-z", "-m", "--name-only", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-show-signature", "--format=%x01%H %s", "-n", strconv.Itoa(maxCommits)},
		after, []string{"--not"}, before, []string{"--glob=refs/*", "--"})
	out, err := t.Git(ctx, nil, args...)
	if err != nil {
		return nil, fmt.Errorf("listing the commits of the job: %w", err)
	}
	known := map[string]bool{}
	for _, c := range changes {
		known[c.Path], known[c.From] = true, true
	}
	return commitsIn(out, sub, known, rootfs.NewClassifier(p.l.DenyList)), nil
}

// commitsIn parses the output of git log.
func commitsIn(out []byte, sub string, known map[string]bool, names *rootfs.Classifier) (commits []Commit) {
	for field := range bytes.SplitSeq(out, []byte{0}) {
		if head, ok := bytes.CutPrefix(field, []byte{1}); ok {
			id, subject, _ := strings.Cut(string(head), " ")
			if n := len(commits); isID(id) && (n == 0 || commits[n-1].ID != id) { // a merge is there for each parent
				commits = append(commits, Commit{ID: id, Subject: rootfs.Visible(strings.ToValidUTF8(subject, "?"))})
			}
			if isID(id) {
				continue
			}
		}
		name := strings.TrimPrefix(string(field), "\n")
		if name == "" || len(commits) == 0 {
			continue
		}
		c, here := &commits[len(commits)-1], name
		if sub != "." {
			var ok bool
			if here, ok = strings.CutPrefix(name, sub+"/"); !ok {
				here = name // around the workspace
				c.Unlisted = appendOnce(c.Unlisted, name)
			}
		}
		if names.Class(name).Config() {
			c.Guarded = appendOnce(c.Guarded, name)
		} else if !known[here] {
			c.Unlisted = appendOnce(c.Unlisted, name)
		}
	}
	return commits
}

func appendOnce(names []string, name string) []string {
	if slices.Contains(names, name) {
		return names
	}
	return append(names, name)
}

// isID reports whether a value is the id of an object.
func isID(s string) bool {
	_, err := hex.DecodeString(s)
	return err == nil && len(s) >= 40
}
