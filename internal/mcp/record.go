package mcp

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/turn"
)

// A record is the persistent state of a server: the accepted descriptions of its tools, from its
// first use or from a later acceptance.
type record struct {
	Server   string       `json:"server"`
	Version  string       `json:"version,omitempty"`  // what it calls itself
	Protocol string       `json:"protocol,omitempty"` // the revision that it uses
	Tools    []definition `json:"tools"`              // as accepted
	Pending  []definition `json:"pending,omitempty"`  // as they are, where that is not accepted: changed or new
	Gone     []string     `json:"gone,omitempty"`     // accepted, and not there any more
	Before   []string     `json:"before,omitempty"`   // digests of tools that were accepted before others of their names, the newest first
	Unusable []unusable   `json:"unusable,omitempty"`
	More     int          `json:"more,omitempty"` // tools beyond those that are kept
	Seen     time.Time    `json:"seen,omitzero"`  // when it was last listed
	Used     time.Time    `json:"used,omitzero"`  // when a tool was last called

	// Pins are contents of the files that it starts that were accepted, the newest first.
	Pins []pin `json:"pins,omitempty"`

	manner

	Resources bool          `json:"resources,omitempty"` // it has some
	Prompts   []turn.Prompt `json:"prompts,omitempty"`
}

// An unusable is an entry of a server's list that is no tool of ours.
type unusable struct {
	Tool string `json:"tool,omitempty"` // its name, "" if it has none
	Why  string `json:"why"`            // with the name before it, for people
}

// UnmarshalJSON reads the text, too, that earlier versions kept.
func (u *unusable) UnmarshalJSON(data []byte) error {
	if err := json.Unmarshal(data, &u.Why); err == nil {
		return nil
	}
	type plain unusable
	return json.Unmarshal(data, (*plain)(u))
}

// reasons returns why each entry cannot be used.
func (r *record) reasons() []string {
	var out []string
	for _, u := range r.Unusable {
		out = append(out, u.Why)
	}
	return out
}

// A state is the known state of one tool.
type state struct {
	accepted    string // the digest of what was
	description string // as it is now
	input       json.RawMessage
}

// currentState returns the current state of a tool.
func (r *record) currentState(tool string) (s state) {
	for _, d := range r.Tools {
		if d.Name == tool {
			s = state{d.Digest, d.Description, d.Input}
		}
	}
	for _, d := range r.Pending {
		if d.Name == tool {
			s.description, s.input = d.Description, d.Input
		}
	}
	return s
}

// accept accepts one tool as it is now.
func (r *record) accept(tool string) {
	for _, d := range r.Pending {
		if d.Name == tool {
			r.replace(d)
		}
	}
	r.Pending = slices.DeleteFunc(r.Pending, func(d definition) bool { return d.Name == tool })
}

const maxBefore = 200

// replace accepts a tool in place of the accepted one of its name, which stays accepted: another branch may have it.
func (r *record) replace(d definition) {
	tools := []definition{d}
	for _, t := range r.Tools {
		if t.Name != d.Name {
			tools = append(tools, t)
		} else if t.Digest != d.Digest {
			r.Before = append([]string{t.Name + " " + t.Digest}, r.Before...)
		}
	}
	slices.SortFunc(tools, func(a, b definition) int { return strings.Compare(a.Name, b.Name) })
	r.Tools, r.Before = tools, r.Before[:min(len(r.Before), maxBefore)]
}

// offered returns the tools that jobs may have: accepted and unchanged.
func (r *record) offered() []definition {
	not := map[string]bool{}
	for _, name := range r.Gone {
		not[name] = true
	}
	for _, d := range r.Pending {
		not[d.Name] = true
	}
	return slices.DeleteFunc(slices.Clone(r.Tools), func(d definition) bool { return not[d.Name] })
}

// update compares a server's current tools with the accepted ones. The first time, and with
// accept, it accepts them all.
func (r *record) update(now listing, accept bool) {
	r.Unusable, r.More, r.Resources, r.Prompts = now.unusable, now.more, now.resources, now.prompts
	if accept || r.Seen.IsZero() {
		for _, d := range r.Tools {
			if !slices.ContainsFunc(now.tools, func(n definition) bool { return n.Name == d.Name && n.Digest == d.Digest }) {
				r.Before = append([]string{d.Name + " " + d.Digest}, r.Before[:min(len(r.Before), maxBefore)]...)
			}
		}
		r.Tools, r.Pending, r.Gone = now.tools, nil, nil
		return
	}
	for _, d := range now.tools {
		if old := d.Name + " " + d.Digest; slices.Contains(r.Before, old) {
			r.Before = slices.DeleteFunc(r.Before, func(b string) bool { return b == old })
			r.replace(d)
		}
	}
	was, is := map[string]string{}, map[string]bool{}
	for _, d := range r.Tools {
		was[d.Name] = d.Digest
	}
	r.Pending, r.Gone = nil, nil
	for _, d := range now.tools {
		is[d.Name] = true
		if was[d.Name] != d.Digest {
			r.Pending = append(r.Pending, d)
		}
	}
	for _, d := range r.Tools {
		if !is[d.Name] {
			r.Gone = append(r.Gone, d.Name)
		}
	}
}

// A listing is a server's description of its tools at one moment.
type listing struct {
	tools    []definition
	unusable []unusable
	more     int

	resources bool
	prompts   []turn.Prompt
}

// recordFile returns the file with the record of an entry. Different entries of the same name have
// different files.
func recordFile(dir, name string, s Server) string {
	return filepath.Join(dir, name+"-"+s.digest()[:16]+".json")
}

// caches returns the directory in which programs of servers keep their downloads, "" without a
// home directory. It is not in the data directory, which is hidden from them.
func caches(getenv func(string) string) string {
	home := getenv("HOME")
	if home == "" {
		return ""
	}
	return filepath.Join(cmp.Or(getenv("XDG_CACHE_HOME"), filepath.Join(home, ".cache")), "adroit", "mcp")
}

// cacheDir returns the directory for the downloads of an entry, whose variables are filled in.
func cacheDir(dir, name string, s Server) string {
	e := Server{Command: s.Command, Args: s.Args}
	return filepath.Join(dir, name+"-"+digest([]byte(string(s.source) + e.digest()))[:16])
}

const maxRecords = 32 // that a process keeps

// A keptRecord is a record as it was read from a file that looked like info.
type keptRecord struct {
	info fs.FileInfo
	record
}

// record reads the record of an entry. One of thousands of tools takes long to parse, so that
// it is kept until there is another file: save never writes to one that is there.
func (p *Pool) record(name string, s Server) (*record, error) {
	file := recordFile(p.o.Dir, name, s)
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return &record{Server: name}, nil
	}
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	kept, ok := p.records[file]
	p.mu.Unlock()
	if !ok || !os.SameFile(kept.info, info) || kept.info.Size() != info.Size() || !kept.info.ModTime().Equal(info.ModTime()) {
		b, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) { // forgotten since
			return &record{Server: name}, nil
		}
		if err != nil {
			return nil, err
		}
		kept = keptRecord{info, record{Server: name}}
		if err := json.Unmarshal(b, &kept.record); err != nil {
			return nil, err
		}
		p.mu.Lock()
		if len(p.records) >= maxRecords { // each job of a client may bring others
			clear(p.records)
		}
		p.records[file] = kept
		p.mu.Unlock()
	}
	r := kept.record // which the caller may change
	r.Tools, r.Pending = slices.Clone(r.Tools), slices.Clone(r.Pending)
	return &r, nil
}

// save writes a record so that a reader sees the old or the new one.
func (r *record) save(dir string, s Server) error {
	return rootfs.WriteJSON(recordFile(dir, r.Server, s), r)
}

// forget removes all records of a name, and the downloads of its programs.
func forget(dir, cache, name string) error {
	downloaded, err := filepath.Glob(filepath.Join(cache, name+"-????????????????"))
	if cache == "" {
		downloaded = nil
	}
	for _, d := range downloaded {
		err = errors.Join(err, os.RemoveAll(d))
	}
	return errors.Join(err, forgetRecords(dir, name))
}

func forgetRecords(dir, name string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), name+"-")
		if ok && len(rest) == len("0123456789abcdef.json") && strings.HasSuffix(rest, ".json") {
			errs = append(errs, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return errors.Join(errs...)
}
