package ledger

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

// A gitIndex has the entries of git's index for the files below a directory. The content of a file
// that matches its entry need not be copied before a command: git keeps it.
type gitIndex struct {
	file  string    // where it was read from
	dir   string    // a directory of the repository
	stamp fileStamp // its time and size
	now   fileStamp // all of it, of the repository's own
	files []tracked // by name
	rest  []string  // tracked names that are not judged by the index
	links []string  // where submodules are, whatever .gitmodules has
	// staged is the digest of all entries, without the index's cached attributes of the files.
	staged string
}

// find returns the entry of a file, nil if there is none.
func (x *gitIndex) find(name string) *tracked {
	if i, ok := slices.BinarySearchFunc(x.files, name, func(e tracked, n string) int { return strings.Compare(e.name, n) }); ok {
		return &x.files[i]
	}
	return nil
}

// A tracked file is one entry of an index.
type tracked struct {
	name  string
	oid   [20]byte
	stamp fileStamp
	exec  bool
	perm  fs.FileMode // as last seen on disk
}

// A fileStamp changes with each change of a file that is made after a while.
type fileStamp struct {
	mtime, ctime int64 // in nanoseconds
	ino          uint32
	size         uint32
}

func stampAt(t *rootfs.Tree, p string) fileStamp {
	st, err := t.Stat(p)
	if err != nil {
		return fileStamp{}
	}
	return stampFrom(&st)
}

func stampFrom(st *unix.Stat_t) fileStamp {
	return fileStamp{st.Mtim.Nano(), st.Ctim.Nano(), uint32(st.Ino), uint32(st.Size)}
}

// settled reports whether a file that is changed now gets another stamp.
func (s fileStamp) settled(now time.Time) bool {
	return now.Sub(time.Unix(0, max(s.mtime, s.ctime))) > rootfs.ClockGranularity
}

var errIndex = errors.New("git's index has a form that is not read here")

// converts finds attributes by which a file is another on disk than in git. One that is only
// taken away, as by -text, converts nothing.
var converts = lazyregexp.New(`(?m)^[^#\n]*\s(text|eol|crlf|filter|ident|working-tree-encoding)\b`)

// indexOf finds and reads the index of the repository that t lies in.
func indexOf(ctx context.Context, t *rootfs.Tree) (*gitIndex, string, error) {
	if _, _, ok := t.WorkTree(); !ok {
		return nil, "", errIndex
	}
	out, err := t.Git(ctx, nil, "rev-parse", "--show-object-format", "--git-path", "index", "--show-prefix")
	if err != nil {
		return nil, "", err
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) != 3 || lines[0] != "sha1" {
		return nil, "", errIndex
	}
	file := filepath.FromSlash(lines[1])
	if !filepath.IsAbs(file) {
		file = filepath.Join(filepath.FromSlash(t.Dir), file)
	}
	now := stampAt(t, file) // before it is read: one that is replaced meanwhile is read again
	x, err := readIndex(file, lines[2])
	if err != nil {
		return nil, "", err
	}
	x.dir, x.now = t.Dir, now
	// Where git converts files at checkout, only the content shows which are clean.
	_, config := t.Git(ctx, nil, "config", "--get-regexp", `^core\.(autocrlf|eol|attributesfile)$`)
	doubt := config == nil
	for _, e := range x.files {
		if p := e.name; strings.HasSuffix(p, ".gitattributes") {
			b, err := t.Root.ReadFile(p)
			doubt = doubt || err == nil && converts.Match(b)
		}
	}
	if b, err := os.ReadFile(filepath.Join(filepath.Dir(file), "info", "attributes")); err == nil && converts.Match(b) {
		doubt = true
	}
	if doubt {
		for i := range x.files {
			x.files[i].stamp = fileStamp{}
		}
	}
	return x, lines[2], nil
}

// readIndex reads an index of version 2, 3 or 4 as far as it is below prefix.
func readIndex(file, prefix string) (*gitIndex, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	x, err := parseIndex(b, prefix, sha1.Size)
	if err != nil {
		return nil, err
	}
	x.file, x.stamp = file, fileStamp{mtime: info.ModTime().UnixNano(), size: uint32(info.Size())}
	// What was changed when the index was written may be another file of the same time.
	fresh := func(e tracked) bool { return e.stamp.mtime >= x.stamp.mtime }
	for _, e := range x.files {
		if fresh(e) {
			x.rest = append(x.rest, e.name)
		}
	}
	x.files = slices.DeleteFunc(x.files, fresh)
	return x, nil
}

// parseIndex reads the content of an index whose IDs have the given number of bytes.
func parseIndex(b []byte, prefix string, size int) (*gitIndex, error) {
	if len(b) < 12+size || string(b[:4]) != "DIRC" {
		return nil, errIndex
	}
	be := binary.BigEndian
	version, n := be.Uint32(b[4:]), int(be.Uint32(b[8:]))
	if version < 2 || version > 4 || n > rootfs.MaxNames {
		return nil, errIndex
	}
	x, staged := &gitIndex{files: make([]tracked, 0, n)}, sha256.New()
	body, name := b[12:len(b)-size], []byte(nil)
	for range n {
		head := 42 + size
		if len(body) < head {
			return nil, errIndex
		}
		at := func(k int) int64 { return int64(be.Uint32(body[k:])) }
		mode, flags := at(24), be.Uint16(body[head-2:])
		e := tracked{oid: [20]byte(body[40:60]), exec: mode&0o111 != 0}
		e.stamp = fileStamp{at(8)*1e9 + at(12), at(0)*1e9 + at(4), uint32(at(20)), uint32(at(36))}
		skip, more := false, uint16(0)
		if flags&0x4000 != 0 {
			if len(body) < head+2 {
				return nil, errIndex
			}
			more = be.Uint16(body[head:]) & 0x6000
			skip = more != 0 // not checked out, or only meant to be added
			head += 2
		}
		staged.Write(body[24:28]) // the mode
		staged.Write(body[40 : 40+size])
		staged.Write(be.AppendUint16(be.AppendUint16(nil, flags&0xb000), more))
		rest := body[head:]
		if version == 4 {
			cut, used := prefixLength(rest)
			if used == 0 || cut > len(name) {
				return nil, errIndex
			}
			name, rest = name[:len(name)-cut], rest[used:]
		} else {
			name = name[:0]
		}
		end := bytes.IndexByte(rest, 0)
		if end < 0 {
			return nil, errIndex
		}
		name = append(name, rest[:end]...)
		staged.Write(append(name[:len(name):len(name)], 0))
		if version == 4 {
			body = rest[end+1:]
		} else if whole := (head + end + 8) &^ 7; whole <= len(body) {
			body = body[whole:]
		} else {
			return nil, errIndex
		}
		if mode == 0o040000 {
			return nil, errIndex // a directory of a sparse index
		}
		plain := mode&0o170000 == 0o100000 && flags&0xb000 == 0 && !skip // a file without conflict that is not assumed to be unchanged
		p, ok := strings.CutPrefix(string(name), prefix)
		if e.name = p; ok && plain {
			x.files = append(x.files, e)
		} else if ok && mode == 0o160000 {
			x.links = append(x.links, p)
		} else if ok {
			x.rest = append(x.rest, p)
		}
	}
	if bytes.HasPrefix(body, []byte("link")) {
		return nil, errIndex // the rest is in another file
	}
	x.staged = hex.EncodeToString(staged.Sum(nil))
	return x, nil
}

// prefixLength reads how much of the name before goes, as version 4 writes it.
func prefixLength(b []byte) (n, used int) {
	for i, c := range b {
		n = n<<7 | int(c&0x7f)
		if c&0x80 == 0 {
			return n, i + 1
		}
		n++
		if i > 4 {
			break
		}
	}
	return 0, 0
}

func (e *tracked) id() string { return hex.EncodeToString(e.oid[:]) }

// Clean reports whether the file is as the index has it, by its stamp.
func (e *tracked) Clean(st *unix.Stat_t) bool {
	return st.Mode&unix.S_IFMT == unix.S_IFREG && e.stamp == stampFrom(st) && e.exec == (st.Mode&0o100 != 0)
}

// verify reads a file whose index entry may be out of date, and remembers it if it matches the
// entry.
func (e *tracked) verify(t *rootfs.Tree, p string, st *unix.Stat_t) bool {
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Size > MaxKeep {
		return false
	}
	f, info, err := t.Open(p, p)
	if err != nil {
		return false
	}
	defer f.Close()
	if oidOf(f, info.Size()) != e.id() {
		return false
	}
	e.stamp, e.exec = stampFrom(st), st.Mode&0o100 != 0
	return true
}

// oidOf returns git's ID of content.
func oidOf(content io.Reader, size int64) string {
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", size)
	_, _ = io.Copy(h, content) // what is cut short has another id
	return hex.EncodeToString(h.Sum(nil))
}

// contents gets files from git by their IDs; those that git does not have are left out. No filter
// runs, no attribute is followed, nothing is fetched.
func contents(ctx context.Context, t *rootfs.Tree, oids []string) (map[string][]byte, error) {
	found := map[string][]byte{}
	if len(oids) == 0 {
		return found, nil
	}
	out, err := t.Git(ctx, []byte(strings.Join(oids, "\n")+"\n"), "cat-file", "--batch")
	for err == nil && len(out) > 0 {
		line, rest, _ := bytes.Cut(out, []byte("\n"))
		words := strings.Fields(string(line))
		if out = rest; len(words) != 3 {
			continue // ID missing
		}
		n, bad := strconv.Atoi(words[2])
		if bad != nil || n+1 > len(out) {
			return found, fmt.Errorf("git's answer is cut short at %s", words[0])
		}
		if words[1] == "blob" && oidOf(bytes.NewReader(out[:n]), int64(n)) == words[0] {
			found[words[0]] = out[:n]
		}
		out = out[n+1:]
	}
	return found, err
}

// obeyed maps files of a git directory that git obeys, and locks that keep it from working, to
// whether each work tree has its own. Empty ones count as absent, except locks.
var obeyed = map[string]bool{
	"config": false, "config.worktree": true, "commondir": true, "shallow": false, "info/attributes": false, "info/grafts": false,
	"info/sparse-checkout": true, "objects/info/alternates": false,
	"index.lock": true, "HEAD.lock": true, "config.lock": false, "packed-refs.lock": false, "shallow.lock": false,
}

// The directories of a git directory with programs that git runs, and with git directories inside.
const (
	hooksDir     = "hooks/"
	modulesDir   = "modules/"
	worktreesDir = "worktrees/"
	reflogs      = "logs" // whose removal is named
)

// GitFile reports whether a recorded name is that of a file or git directory inside of the git
// directory, and not of a reference.
func GitFile(name string) bool {
	_, ok := obeyed[name]
	return ok || name == reflogs || strings.HasPrefix(name, hooksDir) || innerGit(name) || isLock(name)
}

func innerGit(name string) bool {
	return strings.HasPrefix(name, modulesDir) || strings.HasPrefix(name, worktreesDir)
}

func isLock(name string) bool { return strings.HasSuffix(name, ".lock") }

// Bounds of what readFiles reads: bytes of a file, and hooks.
const (
	maxGitFile = 1 << 20
	maxHooks   = 200
)

// readFiles reads the state of the files for which GitFile holds.
func (s *refState) readFiles(own, common int) {
	values := map[string]string{}
	s.content = map[string][]byte{}
	read := func(git int, name string) {
		dir, err := rootfs.OpenBeneath(git, path.Dir(name))
		if err != nil {
			return
		}
		defer unix.Close(dir)
		if v, b := gitFileAt(dir, path.Base(name)); v != "" {
			values[name], s.content[name] = v, b
		}
	}
	for name, each := range obeyed {
		if each {
			read(own, name)
		} else {
			read(common, name)
		}
	}
	if dir, err := rootfs.OpenDirAt(common, path.Clean(hooksDir)); err == nil {
		entries, _ := rootfs.ListAt(dir) // what cannot be read, git does not run either
		unix.Close(dir)
		for _, e := range entries[:min(len(entries), maxHooks)] {
			if !strings.HasSuffix(e.Name(), ".sample") {
				read(common, hooksDir+e.Name())
			}
		}
	}
	if dir, err := rootfs.OpenDirAt(common, reflogs); err == nil {
		unix.Close(dir)
		values[reflogs] = repository
	}
	rootfs.EachModule(common, func(_ int, at string) { values[at] = repository })
	if s.Only == "" {
		rootfs.EachDir(common, path.Clean(worktreesDir), func(fd int, name string) {
			if inUse(common, refAt(fd, "HEAD")) == "" {
				values[worktreesDir+name] = repository
			}
		})
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		s.Files = append(s.Files, refPair{rootfs.RawName(name), values[name]})
	}
}

// repository is the value of a git directory, and of reflogs.
const repository = "repository"

// gitFileAt returns the value of a file of a git directory, "" for none, and its content.
func gitFileAt(dir int, name string) (string, []byte) {
	st, err := rootfs.StatAt(dir, name)
	if err != nil {
		return "", nil
	}
	as := fmt.Sprintf("file %d of %d", st.Ino, st.Mtim.Nano())
	if isLock(name) {
		return as, nil // another lock may have the same content
	}
	if to, err := rootfs.LinkAt(dir, name); err == nil {
		return "link to " + to, nil
	}
	b, err := rootfs.ReadAt(dir, name, maxGitFile)
	switch {
	case err != nil:
		return as, nil
	case len(bytes.TrimSpace(b)) == 0:
		return "", nil
	}
	return fmt.Sprintf("%03o %s", st.Mode&0o777, rootfs.Digest(b)), b
}
