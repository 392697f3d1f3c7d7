package agents

import "io/fs"

// A Layer is a directory of agent files.
type Layer struct {
	Name   string // built in, user, project: for people
	FS     fs.FS  // *.md at its top; nil, or a directory that is not there, is an empty layer
	Dir    string // where FS is, for the file names in problems; may be empty
	Claude bool   // written for Claude Code: a file that names no tools gets the usual ones
}

// A Skill is a folder with a SKILL.md: what it is for, which is shown to every
// agent that has it, and how it is done, which is read when it is needed. A
// job pins the skills it begins with.
type Skill struct {
	Name        string            `json:"name"`
	Description string            `json:"description"`
	Body        string            `json:"body"`
	Files       map[string]string `json:"files,omitempty"` // texts by path below the folder

	Source Source `json:"-"`
}

// Size is the bytes a job pins of it.
func (s Skill) Size() int {
	n := len(s.Name) + len(s.Description) + len(s.Body)
	for name, text := range s.Files {
		n += len(name) + len(text)
	}
	return n
}
