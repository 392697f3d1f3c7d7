package sandbox

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// A Policy lists what one command may access. All paths are absolute and have their links
// resolved. Everything that it does not name is read-only.
type Policy struct {
	Dir   string   `json:"dir"`   // where the command starts
	Write []string `json:"write"` // trees that the command may change
	// Private is a directory of ours with the command's /tmp and home; it is
	// made if need be and outlives the command.
	Private string   `json:"private"`
	Home    string   `json:"home,omitempty"` // what Private/home stands for
	Hide    []string `json:"hide,omitempty"` // trees that look empty
	Show    []string `json:"show,omitempty"` // read-only trees inside of what is hidden
	Mask    []string `json:"mask,omitempty"` // files and trees that cannot be read
	// Fix are files and trees that stay read-only inside of Write; Pin are
	// directories that can be written but not renamed or replaced.
	Fix []string `json:"fix,omitempty"`
	Pin []string `json:"pin,omitempty"`
	// Expect records the files found at paths of Write, Fix, Pin and Mask when the policy was
	// made. Each is opened once, without following a link, and compared: if another file is there
	// by now, the command does not run and the error is ErrChanged. Paths without an entry are not
	// compared.
	Expect map[string]rootfs.ID `json:"expect,omitempty"`
	// Collect is a directory of ours with the directories upper and work and the file lock. At
	// Full, the command's changes in the first of Write go to upper, as the upper layer of an
	// overlay, and the directory itself does not change. Other levels refuse it.
	Collect string `json:"collect,omitempty"`
	// Probe is another directory to see through an overlay, whose upper and work are
	// in the directory probe of Collect; see ProbeCollect.
	Probe   string    `json:"probe,omitempty"`
	Caches  []Overlay `json:"caches,omitempty"`
	NetOpen bool      `json:"net_open,omitempty"` // the host's network instead of a private loopback
	Limits  Limits    `json:"limits"`

	Level  Level      `json:"level"`
	Locked bool       `json:"locked,omitempty"` // inside bwrap
	Mounts bwrapMount `json:"mounts,omitempty"` // at the level Bubblewrap; empty: whatever can be had

	renames int // with Collect, where the renames of the command are reported
}

// A bwrapMount states who makes the mounts at the level Bubblewrap.
type bwrapMount string

const (
	// mountsInside is the helper, from descriptors, in the namespaces of bwrap.
	mountsInside bwrapMount = "inside"
	// mountsByName is bwrap, where AppArmor lets nothing else make mounts. It
	// follows links; see verifyMounts.
	mountsByName bwrapMount = "by name"
)

// An Overlay shows Lower at its own place, while writes go to Upper. No two commands may use one
// Upper at a time, unless Alone is set.
type Overlay struct {
	Lower string `json:"lower"`
	Upper string `json:"upper"`           // with Upper-work beside it
	Alone bool   `json:"alone,omitempty"` // Upper is shown in Lower's place
}

// Limits bound one command. Zero means the default, negative none.
type Limits struct {
	MemoryMB  int `json:"memory_mb,omitempty"`   // of all its processes together; default three quarters of the machine
	FileMB    int `json:"file_mb,omitempty"`     // size of a file; default 8192
	Processes int `json:"processes,omitempty"`   // processes and threads; default 4096
	CPUSecs   int `json:"cpu_seconds,omitempty"` // of one process; default 7200
	// FreeMB is the space that must stay free on each disk that the command may write to. The
	// runner of the command watches it; the default is the smaller of 512 and a sixteenth of the
	// disk.
	FreeMB int `json:"free_mb,omitempty"`
}

func (l Limits) or() Limits {
	l.FileMB = cmp.Or(l.FileMB, 8192)
	l.Processes = cmp.Or(l.Processes, 4096)
	l.CPUSecs = cmp.Or(l.CPUSecs, 7200)
	return l
}

// tmp and home are the parts of the private directory.
func (p *Policy) tmp() string  { return filepath.Join(p.Private, "tmp") }
func (p *Policy) home() string { return filepath.Join(p.Private, "home") }

func (p *Policy) prepare() error {
	for _, d := range []string{p.tmp(), p.home()} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return err
		}
	}
	for _, o := range p.Caches {
		dirs := []string{o.Upper, o.Upper + "-work"}
		if o.Alone {
			dirs = dirs[:1]
		}
		for _, d := range dirs {
			if err := os.MkdirAll(d, 0o700); err != nil {
				return err
			}
		}
	}
	return nil
}

// Environ returns env with the changes that a level requires.
func (p *Policy) Environ(level Level, env []string) []string {
	if level == Off {
		return env
	}
	set := map[string]string{"TMPDIR": "/tmp"}
	switch {
	case level != Full && level != Bubblewrap:
		set["TMPDIR"], set["HOME"] = p.tmp(), p.home()
	case p.Home == "":
		set["HOME"] = "/tmp"
	}
	for _, o := range p.Caches {
		if level != Full {
			set["GOCACHE"] = o.Upper
		} else {
			set["GOCACHE"] = o.Lower
		}
	}
	out := slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		key, _, _ := strings.Cut(kv, "=")
		_, ok := set[key]
		return ok || key == "XDG_CACHE_HOME"
	})
	for k, v := range set {
		out = append(out, k+"="+v)
	}
	slices.Sort(out)
	return out
}

// under reports whether path is dir or lies below it.
func under(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir+"/")
}

// A mount is one step of building the command's view of the file system.
type mount struct {
	kind string // bind, tmpfs, overlay, collect, mask
	from string
	at   string
	ro   bool
	pin  bool       // must exist before: it is not made
	want *rootfs.ID // what is at from and at; nil: anything
	over bool       // its place is seen through an overlay, where files have other identities
}

// view returns the mounts of a policy in the order they are made: parents first, so that a mount
// inside a hidden directory lies on top of it.
func (p *Policy) view() []mount {
	var out []mount
	out = append(out, mount{kind: "bind", from: p.tmp(), at: "/tmp"}, mount{kind: "bind", from: p.tmp(), at: "/var/tmp"})
	if p.Home != "" {
		out = append(out, mount{kind: "bind", from: p.home(), at: p.Home})
	}
	for _, d := range slices.Concat([]string{"/run", "/var/run"}, p.Hide) {
		out = append(out, mount{kind: "tmpfs", at: d, ro: true})
	}
	for _, d := range p.Show {
		out = append(out, mount{kind: "bind", from: d, at: d, ro: true})
	}
	for _, o := range p.Caches {
		kind := "overlay"
		if o.Alone {
			kind = "bind"
		}
		out = append(out, mount{kind: kind, from: o.Upper, at: o.Lower})
	}
	for i, d := range p.Write {
		if i == 0 && p.Collect != "" {
			out = append(out, mount{kind: "collect", from: p.Collect, at: d})
			continue
		}
		out = append(out, mount{kind: "bind", from: d, at: d})
	}
	if p.Probe != "" {
		out = append(out, mount{kind: "collect", from: filepath.Join(p.Collect, "probe"), at: p.Probe})
	}
	for _, d := range p.Pin {
		out = append(out, mount{kind: "bind", from: d, at: d, pin: true})
	}
	for _, d := range p.Fix {
		out = append(out, mount{kind: "bind", from: d, at: d, ro: true, pin: true})
	}
	for _, d := range p.Mask {
		out = append(out, mount{kind: "mask", at: d, ro: true, pin: true})
	}
	for i, m := range out {
		if id, ok := p.Expect[m.at]; ok && (m.kind == "mask" || m.kind == "collect" || m.from == m.at) {
			out[i].want = &id
			out[i].over = p.Collect != "" && m.pin && under(m.at, p.Write[0])
		}
	}
	slices.SortStableFunc(out, func(a, b mount) int {
		return strings.Count(a.at, "/") - strings.Count(b.at, "/")
	})
	return out
}

// writable lists the trees that Landlock leaves writable.
func (p *Policy) writable(level Level) []string {
	out := slices.Clone(p.Write)
	if p.Probe != "" {
		out = append(out, p.Probe)
	}
	if level == Full || level == Bubblewrap {
		out = append(out, "/tmp", "/var/tmp", "/dev/shm")
		if p.Home != "" {
			out = append(out, p.Home)
		}
		for _, o := range p.Caches {
			out = append(out, o.Lower)
		}
		return out
	}
	out = append(out, p.tmp(), p.home())
	for _, o := range p.Caches {
		out = append(out, o.Upper)
	}
	return out
}
