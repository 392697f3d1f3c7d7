package agents

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/internal/text/plainyaml"
)

// Bounds of skills: a job pins what it has, so what is larger is no skill.
const (
	maxSkill      = 64 << 10  // bytes of SKILL.md, and of each other file
	maxFolder     = 256 << 10 // bytes of a skill
	maxSkills     = 2 << 20   // bytes of all
	maxSkillFiles = 64
	maxSkillDepth = 4
)

// Name of a skill, as the open format has it.
var skillName = lazyregexp.New(`^[a-z0-9][a-z0-9-]{0,63}$`)

// LoadSkills reads the skills of the layers, each a directory with a folder for
// each skill; later ones lie over earlier ones. They come sorted by name. What
// cannot be used is left out, and a problem states why: Error means the whole
// skill, Warning a part of it.
//
// The FS of an untrusted layer should refuse links that lead out of it,
// as that of an os.Root does; links inside a skill are never followed.
func LoadSkills(layers ...Layer) ([]Skill, Problems) {
	found := map[string]Skill{}
	var all Problems
	for _, l := range layers {
		if l.FS == nil {
			continue
		}
		entries, err := fs.ReadDir(l.FS, ".")
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) {
				all = append(all, Problem{File: l.Dir, Severity: Error, Message: "the directory cannot be read: " + err.Error()})
			}
			continue
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), ".") || e.Type().IsRegular() {
				continue // a README beside the skills is none
			}
			s, ps := loadSkill(l, e.Name())
			all = append(all, ps...)
			if s != nil {
				found[s.Name] = *s
			}
		}
	}
	var out []Skill
	size := 0
	for _, name := range slices.Sorted(maps.Keys(found)) {
		s := found[name]
		if size += s.Size(); size > maxSkills {
			all = append(all, Problem{File: s.Source.File, Severity: Error, Message: fmt.Sprintf("the skills before it take all of %d bytes there is room for", maxSkills)})
			size -= s.Size()
			continue
		}
		out = append(out, s)
	}
	return out, all
}

func loadSkill(l Layer, folder string) (*Skill, Problems) {
	from := Source{Layer: l.Name, File: path.Join(l.Dir, folder, "SKILL.md")}
	rep := &report{src: from}
	main := path.Join(folder, "SKILL.md")
	if link(l.FS, main) {
		rep.at(place{}, Error, "put the file itself there", "it is a link; links in a skill are not followed")
		return nil, rep.list
	}
	src, err := readText(l.FS, main, maxSkill)
	if errors.Is(err, fs.ErrNotExist) {
		rep.at(place{}, Error, "a skill is a folder with a SKILL.md", "there is none")
		return nil, rep.list
	}
	if err != nil {
		rep.at(place{}, Error, "", "%v", err)
		return nil, rep.list
	}
	s := &Skill{Source: from}
	front, body, ok := "", strings.TrimSpace(src), true
	if _, has := opens(src); has {
		front, body, _, ok = split([]byte(src), rep)
	}
	if !ok {
		return nil, rep.list
	}
	root := frontMatter(front, rep, skillText)
	if root == nil || rep.list.Err() != nil {
		return nil, rep.list
	}
	d := plainyaml.Decoder{Report: func(p place, hint, words string) { rep.at(p, Error, hint, "%s", words) }}
	// The format has more keys, and others may add theirs: they are not ours to
	// complain about.
	for i, k := range root.Keys {
		v := root.Kids[i]
		switch {
		case k.Text != "name" && k.Text != "description":
		case k.Text == "name":
			d.String(v, k.Text, &s.Name)
		default:
			d.String(v, k.Text, &s.Description)
		}
	}
	s.Body = body
	// The program that the format is of takes the folder's name and the first words where
	// there are no others.
	if !skillName.MatchString(s.Name) && skillName.MatchString(folder) {
		rep.at(plainyaml.At(1, 1), Note, "say name: "+folder, "the name %q cannot be used; its folder's is", s.Name)
		s.Name = folder
	}
	if s.Description == "" && rep.list.Err() == nil && body != "" {
		s.Description = firstWords(body)
		rep.at(plainyaml.At(1, 1), Note, "say in description: when to use it", "the description is missing; the first words of the text are")
	}
	switch {
	case rep.list.Err() != nil:
	case !skillName.MatchString(s.Name):
		rep.at(plainyaml.At(1, 1), Error, "use lower case letters, digits and -, as in release-notes", "the name %q cannot be used", s.Name)
	case s.Description == "":
		rep.at(plainyaml.At(1, 1), Error, "say in a sentence when to use it", "the description is missing")
	case s.Body == "":
		rep.at(plainyaml.At(1, 1), Error, "write below the front matter how it is done", "there are no instructions")
	case s.Name != folder:
		rep.at(plainyaml.At(1, 1), Warning, "the format wants them to be the same", "the skill is called %s, its folder %s", s.Name, folder)
	}
	if rep.list.Err() != nil {
		return nil, rep.list
	}
	skillFiles(s, l.FS, folder, rep)
	return s, rep.list
}

// firstWords is the first paragraph of a text that is no heading, else what it has.
func firstWords(body string) string {
	for paragraph := range strings.SplitSeq(body, "\n\n") {
		var lines []string
		for line := range strings.Lines(paragraph) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
				lines = append(lines, line)
			}
		}
		if lines != nil {
			return short(strings.Join(lines, " "), maxSkillLine)
		}
	}
	return short(strings.TrimSpace(strings.TrimLeft(body, "#")), maxSkillLine)
}

// link reports whether the last part of name is a link. A file system that
// cannot say has none.
func link(fsys fs.FS, name string) bool {
	entries, err := fs.ReadDir(fsys, path.Dir(name))
	return err == nil && slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return e.Name() == path.Base(name) && e.Type()&fs.ModeSymlink != 0
	})
}

// skillFiles reads what lies beside SKILL.md.
func skillFiles(s *Skill, fsys fs.FS, folder string, rep *report) {
	leave := func(name, why string) {
		rep.list = append(rep.list, Problem{File: path.Join(path.Dir(s.Source.File), name), Severity: Warning, Message: "it is left out: " + why})
	}
	size := len(s.Body)
	var read func(dir string, depth int)
	read = func(dir string, depth int) {
		entries, err := fs.ReadDir(fsys, path.Join(folder, dir))
		if err != nil {
			leave(dir, err.Error())
			return
		}
		for _, e := range entries {
			name := path.Join(dir, e.Name())
			switch {
			case name == "SKILL.md" || strings.HasPrefix(e.Name(), "."):
			case e.Type()&fs.ModeSymlink != 0:
				leave(name, "it is a link; links in a skill are not followed")
			case e.IsDir() && depth == maxSkillDepth:
				leave(name, "it lies too deep")
			case e.IsDir():
				read(name, depth+1)
			case len(s.Files) == maxSkillFiles:
				leave(name, fmt.Sprintf("a skill has at most %d files", maxSkillFiles))
				return
			default:
				text, err := readText(fsys, path.Join(folder, name), maxSkill)
				if err == nil && size+len(text) > maxFolder {
					err = fmt.Errorf("the skill has more than %d bytes", maxFolder)
				}
				if err != nil {
					leave(name, err.Error())
					continue
				}
				if size += len(text); s.Files == nil {
					s.Files = map[string]string{}
				}
				s.Files[name] = text
			}
		}
	}
	read(".", 1)
}
