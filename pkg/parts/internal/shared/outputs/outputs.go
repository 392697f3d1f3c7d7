// Package outputs writes what a job made into a folder of the workspace, finds out later
// whether it is still there and up to date, and holds the numbers that a text claims
// against those that are known.
package outputs

import (
	"bytes"
	"fmt"
	"path"
	"strings"

	"github.com/adroit-run/adroit/pkg/workspace"
)

// Rendered is a file as it should be, by its name in the folder.
type Rendered struct {
	Name string
	Data []byte
}

// A File is a written file.
type File struct {
	Path string `json:"path"`
	Size int    `json:"size"` // bytes
}

// Write writes the files into a folder. The text lists them, a line each.
func Write(files *workspace.Files, dir string, list []Rendered) (saved []File, text string, err error) {
	var lines strings.Builder
	for _, f := range list {
		name := path.Join(dir, f.Name)
		if err := files.WriteFile(name, f.Data); err != nil {
			return nil, "", err
		}
		saved = append(saved, File{name, len(f.Data)})
		fmt.Fprintf(&lines, "%s, %d bytes\n", name, len(f.Data))
	}
	return saved, lines.String(), nil
}

// Check lists the files that are there as they should be, and what is wrong with
// the others. Tool is the one that writes them.
func Check(files *workspace.Files, saved []File, list []Rendered, tool string) (made, faults []string) {
	now := map[string][]byte{}
	for _, f := range list {
		now[f.Name] = f.Data
	}
	for _, f := range saved {
		b, err := files.ReadFile(f.Path)
		switch {
		case err != nil:
			faults = append(faults, fmt.Sprintf("%s cannot be read: %v; call %s again", f.Path, err, tool))
		case !bytes.Equal(b, now[path.Base(f.Path)]):
			faults = append(faults, fmt.Sprintf("%s is not up to date; call %s again", f.Path, tool))
		default:
			made = append(made, f.Path)
		}
	}
	if len(saved) > 0 && len(saved) < len(list) {
		faults = append(faults, fmt.Sprintf("not everything that was made is saved; call %s again", tool))
	}
	return made, faults
}

// SocialFile is the name of the file that Social makes.
const SocialFile = "social.md"

// A Post is an announcement for one network.
type Post struct {
	Network string `json:"network"`
	Text    string `json:"text"`
}

// Social is announcements as a file.
func Social(posts []Post) Rendered {
	var b strings.Builder
	b.WriteString("# Social posts\n")
	for _, p := range posts {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", strings.Join(strings.Fields(p.Network), " "), strings.TrimSpace(p.Text))
	}
	return Rendered{SocialFile, []byte(b.String())}
}
