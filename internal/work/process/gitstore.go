package process

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/work/ledger"
)

// Git never removes these from a repository, and without one of them there is none.
var storeNeeds = []string{"HEAD", "refs"}

// maxStore bounds how many single objects of one repository have a second link.
const maxStore = 200_000

// A gitStore is the stored history of a repository, as it was before a command. Files of objects
// never change, so a second link to each keeps them: git may repack them, but no object is lost
// when a command has ended.
type gitStore struct {
	links string                 // the directory of the links
	files map[string]objectFiles // by directory below objects: those that have a link, or should
	small map[string]*smallNode  // what else there is, as far as it is small
	seen  map[string]*objectDir  // directories as they were listed last
	kept  map[string]*objectDir  // of them, those whose files are just those in files
	users atomic.Int32           // commands that run
	made  bool                   // by a command of this job
}

// An objectDir is a directory of files of objects. One that has not changed is not listed again.
type objectDir struct {
	id      rootfs.ID
	changed unix.Timespec
	settled bool // a change after it was listed has another time
	files   objectFiles
}

// An objectFile is a file of objects as it was seen last. Git replaces it by another that holds the
// same, or sets its times. It is zero in a directory with more single objects than are compared.
type objectFile struct {
	ino  uint64
	size int64
}

// objectFiles are the files of a directory by name.
type objectFiles map[string]objectFile

// settling is the age of a change after which any later change has another time.
const settling = time.Second

// A smallNode is a node that need not be read again while its file has not changed.
type smallNode struct {
	*node
	id      rootfs.ID
	changed unix.Timespec
	settled bool
}

// keep records the repository's files, and makes missing links.
func (g *gitStore) keep(fd int) {
	shared := g.users.Load() > 0 // a command may be removing what is gone
	g.keepSmall(fd, shared)
	now, n := g.list(fd)
	to, err := openLinks(g.links)
	if err == nil {
		defer unix.Close(to)
	}
	for dir, files := range g.files {
		d := now[dir]
		if shared || d != nil && d == g.kept[dir] {
			continue
		}
		for name, was := range files {
			if at := path.Join(dir, name); !now.has(at) || d.files[name].ino != was.ino && d.files[name].ino != 0 {
				_ = os.Remove(g.at(at)) // git has packed it otherwise, or written it anew
				delete(files, name)
			}
		}
	}
	for dir, d := range now {
		if d == g.kept[dir] {
			continue
		}
		if g.files[dir] == nil {
			g.files[dir] = objectFiles{}
		}
		for name, is := range d.files {
			was, known := g.files[dir][name]
			if !known && (n <= maxStore || dir == "pack") && err == nil {
				g.link(fd, path.Join(dir, name), to)
			}
			if !known || was.ino == is.ino && !shared {
				g.files[dir][name] = is // without a link, that it is gone can be said
			}
		}
		if delete(g.kept, dir); maps.Equal(g.files[dir], d.files) {
			g.kept[dir] = d
		}
	}
}

func (g *gitStore) link(fd int, name string, to int) {
	err := linkStore(fd, path.Join("objects", name), to, filepath.Base(g.at(name)))
	if err != nil && path.Ext(name) == ".idx" {
		_ = g.copyIndex(fd, name) // on another file system: what is lost can be named
	}
}

// keepSmall reads the files that are not objects. If the store is shared, files that a repository
// needs stay known.
func (g *gitStore) keepSmall(fd int, shared bool) {
	was := g.small
	g.small = map[string]*smallNode{}
	began := time.Now()
	entries, _ := rootfs.ListAt(fd)
	for _, e := range entries {
		name := e.Name()
		if slices.Contains([]string{"objects", "modules", "worktrees", "lfs"}, name) || strings.HasSuffix(name, ".lock") {
			continue
		}
		st, err := rootfs.StatAt(fd, name)
		if err != nil {
			continue
		}
		// What is in the directory of hooks is protected in other ways.
		if old := was[name]; old != nil && old.settled && old.id == rootfs.FileID(&st) && old.changed == st.Ctim && (name == "hooks" || !e.IsDir()) {
			g.small[name] = old
			continue
		}
		left := int64(maxBackup)
		if n, err := readNode(fd, name, &left); err == nil {
			g.small[name] = &smallNode{n, rootfs.FileID(&st), st.Ctim, settled(began, st.Ctim)}
		}
	}
	if !shared {
		return
	}
	names := append(slices.Clone(storeNeeds), "logs")
	if g.small["refs"] == nil {
		names = append(names, "packed-refs")
	}
	for _, name := range names {
		if g.small[name] == nil && was[name] != nil {
			g.small[name] = was[name]
		}
	}
}

func settled(at time.Time, changed unix.Timespec) bool {
	return at.Sub(time.Unix(changed.Unix())) > settling
}

// maxCopied bounds the index of a pack that is copied.
const maxCopied = 64 << 20

func (g *gitStore) copyIndex(fd int, name string) error {
	dir, err := rootfs.OpenBeneath(fd, path.Dir(path.Join("objects", name)))
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	b, err := rootfs.ReadAt(dir, path.Base(name), maxCopied)
	if err != nil {
		return err
	}
	return rootfs.WriteScratch(g.at(name), 0o600, b)
}

// openStore has the links that are there: nothing, unless a process was killed.
func openStore(links string) *gitStore {
	g := &gitStore{links: links, files: map[string]objectFiles{}, kept: map[string]*objectDir{}}
	fd, err := unix.Open(links, rootfs.PathOnly|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return g
	}
	defer unix.Close(fd)
	entries, _ := rootfs.ListAt(fd)
	for _, e := range entries {
		dir, name, ok := strings.Cut(e.Name(), "-")
		if st, err := rootfs.StatAt(fd, e.Name()); ok && err == nil {
			if g.files[dir] == nil {
				g.files[dir] = objectFiles{}
			}
			g.files[dir][name] = objectFile{st.Ino, st.Size}
		}
	}
	return g
}

// at returns the path of the link to a file.
func (g *gitStore) at(name string) string {
	return filepath.Join(g.links, strings.Replace(name, "/", "-", 1))
}

// linkStore gives a file below an open directory another name.
func linkStore(fd int, rel string, to int, name string) error {
	dir, err := rootfs.OpenBeneath(fd, path.Dir(rel))
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	f, err := rootfs.OpenAt(dir, path.Base(rel), rootfs.PathOnly, 0)
	if err != nil {
		return err
	}
	defer unix.Close(f)
	return rootfs.LinkFile(f, to, name)
}

// objectDirs are the directories of the files of objects: of single ones, as in ab/cdef, and
// of packs.
type objectDirs map[string]*objectDir

func (o objectDirs) has(name string) bool {
	d := o[path.Dir(name)]
	if d == nil {
		return false
	}
	_, ok := d.files[path.Base(name)]
	return ok
}

// list has the files of objects of a repository, and how many there are.
func (g *gitStore) list(fd int) (out objectDirs, n int) {
	out = objectDirs{}
	defer func() { g.seen = out }()
	objects, err := rootfs.OpenDirAt(fd, "objects")
	if err != nil {
		return out, 0
	}
	defer unix.Close(objects)
	entries, _ := rootfs.ListAt(objects)
	for _, e := range entries {
		name := e.Name()
		if name != "pack" && len(name) != 2 {
			continue
		}
		began := time.Now()
		st, err := rootfs.StatAt(objects, name)
		if err != nil || rootfs.TypeOf(&st) != unix.S_IFDIR {
			continue
		}
		d := g.seen[name]
		if d == nil || !d.settled || d.id != rootfs.FileID(&st) || d.changed != st.Ctim {
			d = &objectDir{rootfs.FileID(&st), st.Ctim, settled(began, st.Ctim), listObjects(objects, name)}
		}
		out[name] = d
		n += len(d.files)
	}
	return out, n
}

// listObjects has the files of objects in a directory.
func listObjects(objects int, name string) objectFiles {
	out := objectFiles{}
	sub, err := rootfs.OpenDirAt(objects, name)
	if err != nil {
		return out
	}
	defer unix.Close(sub)
	entries, _ := rootfs.ListAt(sub)
	for _, e := range entries {
		if e.Type().IsRegular() && (name != "pack" && hexName(e.Name()) || strings.HasPrefix(e.Name(), "pack-")) {
			var st unix.Stat_t
			if name == "pack" || len(entries) <= maxCompared {
				if st, err = rootfs.StatAt(sub, e.Name()); err != nil {
					continue
				}
			}
			out[e.Name()] = objectFile{st.Ino, st.Size}
		}
	}
	return out
}

func hexName(s string) bool {
	_, err := hex.DecodeString(s)
	return err == nil && len(s) >= 38
}

func openLinks(dir string) (int, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return -1, err
	}
	return unix.Open(dir, rootfs.PathOnly|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
}

// restore restores into an open git directory the files that git itself never removes, and the
// files of objects that are in no other file now. It returns them in words, and the files of
// objects that were written to, of which nothing is kept.
func (g *gitStore) restore(fd int) (back, written []string, err error) {
	names := slices.Clone(storeNeeds)
	for with, name := range map[string]string{"refs": "packed-refs", "HEAD": "index"} {
		if _, err := rootfs.StatAt(fd, with); err != nil {
			names = append(names, name) // as all was removed; by itself git may remove it
		}
	}
	slices.Sort(names)
	for _, name := range append(names, "logs") {
		n := g.small[name]
		if _, serr := rootfs.StatAt(fd, name); n == nil || serr == nil {
			continue
		}
		if werr := n.write(fd, name); werr != nil {
			return back, nil, werr
		}
		back = append(back, name)
	}
	if n := g.small["packed-refs"]; n != nil && ledger.Packed(n.Data) {
		if b, err := rootfs.ReadAt(fd, "packed-refs", maxBackup); err == nil && !ledger.Packed(b) { // no git reads it
			if err := errors.Join(rootfs.RemoveAt(fd, "packed-refs"), n.write(fd, "packed-refs")); err != nil {
				return back, nil, err
			}
			back = append(back, "packed-refs")
		}
	}
	links, err := openLinks(g.links)
	if err != nil {
		return back, nil, err
	}
	defer unix.Close(links)
	missing := g.missing(fd)
	replaced, written := g.damaged(fd, links)
	if missing = append(missing, replaced...); len(missing) == 0 {
		return back, written, nil
	}
	for _, name := range missing {
		if err := putBack(fd, name, links, filepath.Base(g.at(name))); err != nil {
			return back, written, err
		}
	}
	return append(back, fmt.Sprintf("%d files of objects", len(missing))), written, nil
}

// maxCompared is the number of single objects in one of their 256 directories up to which they are
// compared after each command. Git packs them when there are about 27 in each.
const maxCompared = 32

// damaged has the files of objects that hold something else than before: those in place of which
// there is another, and those that were written to.
func (g *gitStore) damaged(fd, links int) (replaced, written []string) {
	objects, err := rootfs.OpenDirAt(fd, "objects")
	if err != nil {
		return nil, nil
	}
	defer unix.Close(objects)
	for dir, files := range g.files {
		sub, err := rootfs.OpenDirAt(objects, dir)
		if err != nil {
			continue
		}
		for name, was := range files {
			if e := path.Ext(name); dir == "pack" && e != ".pack" && e != ".idx" || was == (objectFile{}) {
				continue
			}
			at := path.Join(dir, name)
			st, err := rootfs.StatAt(sub, name)
			is := objectFile{st.Ino, st.Size}
			if err != nil || is == was {
				continue
			}
			kept, err := rootfs.StatAt(links, filepath.Base(g.at(at)))
			switch intact := err == nil && kept.Size == was.size; {
			case is.ino == was.ino || !intact && is.size != was.size:
				written, files[name] = append(written, "objects/"+at), is
			case intact && (is.size != was.size || !sameContent(sub, name, links, filepath.Base(g.at(at)))):
				replaced = append(replaced, at)
			}
		}
		unix.Close(sub)
	}
	slices.Sort(replaced)
	slices.Sort(written)
	return replaced, written
}

// sameContent compares two files of one size. Of those too large to be read the size decides.
func sameContent(dir int, name string, other int, to string) bool {
	a, aerr := rootfs.ReadAt(dir, name, maxCopied)
	b, berr := rootfs.ReadAt(other, to, maxCopied)
	var large *rootfs.TooLargeError
	return errors.As(aerr, &large) || aerr == nil && berr == nil && bytes.Equal(a, b)
}

// putBack gives a kept file its name below objects.
func putBack(fd int, name string, links int, from string) error {
	dir := fd
	for _, part := range []string{"objects", path.Dir(name)} {
		if err := rootfs.MkdirAt(dir, part, 0o755); err != nil && !errors.Is(err, unix.EEXIST) {
			return err
		}
		sub, err := rootfs.OpenDirAt(dir, part)
		if err != nil {
			return err
		}
		defer unix.Close(sub)
		dir = sub
	}
	f, err := rootfs.OpenAt(links, from, rootfs.PathOnly, 0)
	if err != nil {
		return err
	}
	defer unix.Close(f)
	if err := rootfs.LinkFile(f, dir, path.Base(name)); !errors.Is(err, unix.EEXIST) {
		return err
	}
	if err := rootfs.RemoveAt(dir, path.Base(name)); err != nil {
		return err
	}
	return rootfs.LinkFile(f, dir, path.Base(name))
}

// missing has the files that are gone, and have an object that no file has now.
func (g *gitStore) missing(fd int) (out []string) {
	now, _ := g.list(fd)
	var gone []string
	for dir, files := range g.files {
		if d := now[dir]; d != nil && d == g.kept[dir] {
			continue
		}
		for name := range files {
			if at := path.Join(dir, name); !now.has(at) {
				gone = append(gone, at)
			}
		}
	}
	if len(gone) == 0 {
		return nil
	}
	slices.Sort(gone)
	var packs []packIDs
	if dir, err := rootfs.OpenBeneath(fd, "objects/pack"); now["pack"] != nil && err == nil {
		for name := range now["pack"].files {
			if base, ok := strings.CutSuffix(name, ".idx"); ok && now.has("pack/"+base+".pack") {
				packs = append(packs, readPackIDs(dir, name))
			}
		}
		unix.Close(dir)
	}
	has := func(id []byte) bool {
		name := hex.EncodeToString(id)
		return now.has(name[:2]+"/"+name[2:]) || slices.ContainsFunc(packs, func(p packIDs) bool { return p.has(id) })
	}
	links, err := openLinks(g.links)
	if err != nil {
		return gone
	}
	defer unix.Close(links)
	needed := map[string]bool{} // packs
	for _, name := range gone {
		if path.Dir(name) != "pack" {
			if id, err := hex.DecodeString(strings.Replace(name, "/", "", 1)); err != nil || !has(id) {
				out = append(out, name)
			}
			continue
		}
		pack := strings.TrimSuffix(name, path.Ext(name))
		need, known := needed[pack]
		if !known {
			p := readPackIDs(links, filepath.Base(g.at(pack+".idx")))
			need = !p.all(has)
			needed[pack] = need
		}
		if need {
			out = append(out, name)
		}
	}
	return out
}

// packIDs are the names of the objects in a pack, in order.
type packIDs struct {
	ids  []byte
	size int // of one; 0 if the index could not be read
}

const maxPackIndex = 1 << 30

// readPackIDs reads the index of a pack, of version 2.
func readPackIDs(dir int, name string) packIDs {
	const head, table = 8, 8 + 256*4
	b, err := rootfs.ReadAt(dir, name, maxPackIndex)
	if err != nil || len(b) < table || !bytes.Equal(b[:head], []byte("\377tOc\x00\x00\x00\x02")) {
		return packIDs{}
	}
	base := strings.TrimSuffix(name, ".idx")
	size := (len(base) - strings.LastIndex(base, "-") - 1) / 2 // a pack is named by a digest as long as those in it
	n := int(binary.BigEndian.Uint32(b[table-4:]))
	if size < 20 || len(b) < table+n*size {
		return packIDs{}
	}
	return packIDs{b[table : table+n*size], size}
}

func (p packIDs) has(id []byte) bool {
	if p.size != len(id) {
		return false
	}
	n := len(p.ids) / p.size
	at := func(i int) []byte { return p.ids[i*p.size : (i+1)*p.size] }
	i := sort.Search(n, func(i int) bool { return bytes.Compare(at(i), id) >= 0 })
	return i < n && bytes.Equal(at(i), id)
}

func (p packIDs) all(has func(id []byte) bool) bool {
	for i := 0; p.size > 0 && i < len(p.ids); i += p.size {
		if !has(p.ids[i : i+p.size]) {
			return false
		}
	}
	return p.size > 0
}

// A heldStore is a gitStore during one command.
type heldStore struct {
	*gitStore
	fd   int    // the git directory
	at   string // its name
	root int    // the directory that holds it as .git, -1 if it is not made anew
	own  bool   // fd is its own
	bare bool   // nothing else records what a command changes in it
}

// changed returns the names in the git directory that are not as they were, but for objects and logs.
func (h *heldStore) changed() []string {
	if !h.bare {
		return nil
	}
	now := &gitStore{small: h.small}
	now.keepSmall(h.fd, false)
	plain := func(small map[string]*smallNode) *node {
		n := &node{Children: map[string]*node{}}
		for name, s := range small {
			if name != "logs" {
				n.Children[name] = s.node
			}
		}
		return n
	}
	names := plain(h.small).differing(plain(now.small), "")
	slices.Sort(names)
	return names
}

func (h *heldStore) close() {
	h.users.Add(-1)
	if h.own {
		unix.Close(h.fd)
	}
}

// dropStores removes the links.
func dropStores(stores map[rootfs.ID]*gitStore) {
	for _, g := range stores {
		_ = os.RemoveAll(g.links)
	}
}

// again makes the git directory of the workspace anew, as far as it was small.
func (g *gitStore) again(root int) int {
	if err := rootfs.MkdirAt(root, ".git", 0o755); err != nil {
		return -1
	}
	fd, err := rootfs.OpenDirAt(root, ".git")
	if err != nil {
		return -1
	}
	for _, name := range slices.Sorted(maps.Keys(g.small)) {
		if slices.Contains(append(storeNeeds, "packed-refs", "logs"), name) {
			continue // see restore
		}
		if err := g.small[name].write(fd, name); err != nil {
			unix.Close(fd)
			return -1
		}
	}
	return fd
}
