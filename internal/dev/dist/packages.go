package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"path"
	"slices"
	"strings"
)

// What a package says of the program.
const (
	homepage = "https://github.com/adroit-run/adroit"
	summary  = "Run LLM agents as durable jobs"
	about    = "One binary that lets a language model work on a project in a sandbox, checks itself\nwhat was done, and takes back its changes alone. With local models or by API."
)

// installed are the files of an archive at their places in a system, with a path from the root.
func installed(files []file) []file {
	var out []file
	for _, f := range files {
		base := path.Base(f.name)
		switch {
		case f.name == "adroit":
			f.name = "usr/bin/adroit"
		case strings.HasPrefix(f.name, "man/"):
			f.name = "usr/share/" + f.name
		case base == "adroit.bash":
			f.name = "usr/share/bash-completion/completions/adroit"
		case base == "_adroit":
			f.name = "usr/share/zsh/site-functions/_adroit"
		case base == "adroit.fish":
			f.name = "usr/share/fish/vendor_completions.d/adroit.fish"
		case base == "LICENSE":
			f.name = "usr/share/doc/adroit/copyright"
		default:
			f.name = "usr/share/doc/adroit/" + base
		}
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b file) int { return cmp.Compare(a.name, b.name) })
	return out
}

// number is the version as packages have it: without the v, and with a character for - that
// neither format gives a meaning.
func (d *dist) number() string {
	n := strings.ReplaceAll(strings.TrimPrefix(d.version, "v"), "-", ".")
	if major, _, _ := strings.Cut(n, "."); major == "" || strings.Trim(major, "0123456789") != "" {
		n = "0." + n // git describe without a tag
	}
	return n
}

// size returns the files' size in bytes.
func size(files []file) (n int) {
	for _, f := range files {
		n += len(f.data)
	}
	return n
}

// directories returns the files' directories: dpkg creates none that its archive does not list.
func directories(files []file) (dirs []file) {
	for _, f := range files {
		for dir := path.Dir(f.name); dir != "."; dir = path.Dir(dir) {
			if d := (file{name: dir + "/", mode: 0o755}); !slices.ContainsFunc(dirs, func(o file) bool { return o.name == d.name }) {
				dirs = append(dirs, d)
			}
		}
	}
	return dirs
}

// deb is a package of Debian: an ar of a version, a description and the files.
func (d *dist) deb(files []file, goarch string) ([]byte, error) {
	control := fmt.Sprintf("Package: adroit\nVersion: %s\nArchitecture: %s\nMaintainer: adroit <noreply@adroit.run>\nInstalled-Size: %d\nRecommends: git, ripgrep\nSection: devel\nPriority: optional\nHomepage: %s\nDescription: %s\n %s\n",
		d.number(), goarch, (size(files)+1023)/1024, homepage, summary, strings.ReplaceAll(about, "\n", "\n "))
	var sums bytes.Buffer
	for _, f := range files {
		fmt.Fprintf(&sums, "%x  %s\n", md5.Sum(f.data), f.name)
	}
	head, err := archive("./", []file{{"control", []byte(control), 0o644}, {"md5sums", sums.Bytes(), 0o644}}, d.time, d.level)
	if err != nil {
		return nil, err
	}
	data, err := archive("./", append(directories(files), files...), d.time, d.level)
	if err != nil {
		return nil, err
	}
	b := bytes.NewBufferString("!<arch>\n")
	for _, m := range []file{{name: "debian-binary", data: []byte("2.0\n")}, {name: "control.tar.gz", data: head}, {name: "data.tar.gz", data: data}} {
		fmt.Fprintf(b, "%-16s%-12d%-6d%-6d%-8s%-10d`\n", m.name, d.time.Unix(), 0, 0, "100644", len(m.data))
		b.Write(m.data)
		if len(m.data)%2 == 1 {
			b.WriteByte('\n')
		}
	}
	return b.Bytes(), nil
}

// Types of values in a header of an rpm.
const (
	rpmInt16   = 3
	rpmInt32   = 4
	rpmString  = 6
	rpmBin     = 7
	rpmStrings = 8
	rpmI18N    = 9
)

// A tag is a value of a header of an rpm.
type tag struct {
	id, kind int
	count    int
	data     []byte
}

func text(id int, s string) tag { return tag{id, rpmString, 1, append([]byte(s), 0)} }

func texts(id int, list ...string) tag {
	return tag{id, rpmStrings, len(list), append([]byte(strings.Join(list, "\x00")), 0)}
}

func numbers(id int, list ...int) tag {
	var b []byte
	for _, n := range list {
		b = binary.BigEndian.AppendUint32(b, uint32(n))
	}
	return tag{id, rpmInt32, len(list), b}
}

func shorts(id int, list ...int) tag {
	var b []byte
	for _, n := range list {
		b = binary.BigEndian.AppendUint16(b, uint16(n))
	}
	return tag{id, rpmInt16, len(list), b}
}

// header is tags as an rpm has them, all within the region of a tag: what is signed.
func header(region int, tags []tag) []byte {
	slices.SortFunc(tags, func(a, b tag) int { return a.id - b.id })
	var index, store []byte
	entry := func(b []byte, id, kind, at, count int) []byte {
		for _, n := range []int{id, kind, at, count} {
			b = binary.BigEndian.AppendUint32(b, uint32(int32(n)))
		}
		return b
	}
	for _, t := range tags {
		for align := map[int]int{rpmInt16: 2, rpmInt32: 4}[t.kind]; align > 0 && len(store)%align > 0; {
			store = append(store, 0)
		}
		index = entry(index, t.id, t.kind, len(store), t.count)
		store = append(store, t.data...)
	}
	index = append(entry(nil, region, rpmBin, len(store), 16), index...)
	store = entry(store, region, rpmBin, -len(index), 16)
	out := []byte{0x8e, 0xad, 0xe8, 1, 0, 0, 0, 0}
	out = binary.BigEndian.AppendUint32(out, uint32(len(index)/16))
	out = binary.BigEndian.AppendUint32(out, uint32(len(store)))
	return append(append(out, index...), store...)
}

// cpio is files in the format newc, which rpm installs from.
func (d *dist) cpio(files []file) []byte {
	var b bytes.Buffer
	put := func(name string, mode int64, inode int, data []byte) {
		fmt.Fprintf(&b, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%s\x00", inode, mode, 0, 0, 1, d.time.Unix(), len(data), 0, 0, 0, 0, len(name)+1, 0, name)
		for b.Len()%4 > 0 {
			b.WriteByte(0)
		}
		b.Write(data)
		for b.Len()%4 > 0 {
			b.WriteByte(0)
		}
	}
	for i, f := range files {
		put("./"+f.name, 0o100000|f.mode, i+1, f.data)
	}
	put("TRAILER!!!", 0, 0, nil)
	return b.Bytes()
}

// listed are the tags that list the files of a package.
func (d *dist) listed(files []file) []tag {
	var sizes, modes, zeros, times, inodes, dirs, devices []int
	var sums, links, owners, bases, folders []string
	for i, f := range files {
		dir := "/" + path.Dir(f.name) + "/"
		at := slices.Index(folders, dir)
		if at < 0 {
			at, folders = len(folders), append(folders, dir)
		}
		sizes, modes, zeros, times = append(sizes, len(f.data)), append(modes, int(0o100000|f.mode)), append(zeros, 0), append(times, int(d.time.Unix()))
		inodes, dirs, devices = append(inodes, i+1), append(dirs, at), append(devices, 1)
		sums, links, owners, bases = append(sums, fmt.Sprintf("%x", sha256.Sum256(f.data))), append(links, ""), append(owners, "root"), append(bases, path.Base(f.name))
	}
	verify := make([]int, len(files))
	for i := range verify {
		verify[i] = -1
	}
	return []tag{
		numbers(1028, sizes...), shorts(1030, modes...), shorts(1033, zeros...), numbers(1034, times...), texts(1035, sums...), texts(1036, links...), numbers(1037, zeros...),
		texts(1039, owners...), texts(1040, owners...), numbers(1045, verify...), numbers(1095, devices...), numbers(1096, inodes...), texts(1097, links...),
		numbers(1116, dirs...), texts(1117, bases...), texts(1118, folders...), numbers(5011, 8), // SHA-256
	}
}

// rpm is a package of RPM 4, unsigned. Tags have the numbers of rpm's rpmtag.h.
func (d *dist) rpm(files []file, goarch string) ([]byte, error) {
	arch, known := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[goarch]
	if !known {
		return nil, fmt.Errorf("rpm has another name for %s, which is not known here", goarch)
	}
	raw := d.cpio(files)
	var payload bytes.Buffer
	z, err := gzip.NewWriterLevel(&payload, d.level)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(raw); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	i18n := func(id int, s string) tag { t := text(id, s); t.kind = rpmI18N; return t }
	const less, equal, feature = 2, 8, 1 << 24
	head := header(63, append(d.listed(files),
		texts(100, "C"), text(1000, "adroit"), text(1001, d.number()), text(1002, "1"), i18n(1004, summary), i18n(1005, about), numbers(1006, int(d.time.Unix())), text(1007, "localhost"),
		numbers(1009, size(files)), text(1014, "Apache-2.0"), i18n(1016, "Development/Tools"), text(1020, homepage), text(1021, "linux"), text(1022, arch), text(1044, "adroit-"+d.number()+"-1.src.rpm"),
		texts(1047, "adroit"), numbers(1112, equal), texts(1113, d.number()+"-1"),
		numbers(1048, less|equal|feature, less|equal|feature, less|equal|feature), texts(1049, "rpmlib(CompressedFileNames)", "rpmlib(FileDigests)", "rpmlib(PayloadFilesHavePrefix)"), texts(1050, "3.0.4-1", "4.6.0-1", "4.0-1"),
		text(1124, "cpio"), text(1125, "gzip"), text(1126, "9"), text(5062, "utf-8"), texts(5092, fmt.Sprintf("%x", sha256.Sum256(payload.Bytes()))), numbers(5093, 8)))
	sum := md5.New()
	sum.Write(head)
	sum.Write(payload.Bytes())
	signature := header(62, []tag{
		text(269, fmt.Sprintf("%x", sha1.Sum(head))), text(273, fmt.Sprintf("%x", sha256.Sum256(head))), numbers(1000, len(head)+payload.Len()),
		{1004, rpmBin, 16, sum.Sum(nil)}, numbers(1007, len(raw)),
	})
	lead := make([]byte, 96)
	copy(lead, []byte{0xed, 0xab, 0xee, 0xdb, 3, 0, 0, 0, 0, 1})
	copy(lead[10:76], "adroit-"+d.number()+"-1")
	lead[77], lead[79] = 1, 5 // Linux; a signature that is a header
	out := append(lead, signature...)
	for len(out)%8 > 0 {
		out = append(out, 0)
	}
	return append(append(out, head...), payload.Bytes()...), nil
}
