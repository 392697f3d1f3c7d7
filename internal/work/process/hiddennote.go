package process

import (
	"fmt"
	"path/filepath"
	"strings"
)

// mostNamed bounds how many hidden files a note names.
const mostNamed = 8

// mentions reports whether a text has a file's name in it, as more than a part of
// another word: process.env is not .env.
func mentions(text, name string) bool {
	letter := func(i int) bool {
		return i >= 0 && i < len(text) && (text[i] == '_' || text[i] == '-' || text[i] >= '0' && text[i] <= '9' || text[i]|0x20 >= 'a' && text[i]|0x20 <= 'z' || text[i] >= 0x80)
	}
	for from := 0; ; {
		i := strings.Index(text[from:], name)
		if i < 0 {
			return false
		}
		i += from
		end := i + len(name)
		if !letter(i-1) && !letter(end) && !(end < len(text) && text[end] == '.' && letter(end+1)) {
			return true
		}
		from = i + 1
	}
}

// covered explains to who reads about a command that failed which files it could
// not read, if that may be why. Each is named once in a job.
func (c *runnerSandbox) covered(s *commandSandbox, text string, unseen bool) string {
	if why := c.outer.unnamed; why != "" && mentions(text, "git") {
		c.outer.unnamed = ""
		return why
	}
	root := c.base.Write[0]
	var named, rest []string
	for _, f := range s.hidden {
		if c.mentioned[f] {
			continue
		}
		if mentions(text, filepath.Base(f)) {
			named = append(named, f)
		} else {
			rest = append(rest, f)
		}
	}
	lower := strings.ToLower(text)
	if len(named) == 0 && (unseen || strings.Contains(lower, "permission denied") || strings.Contains(lower, "eacces")) {
		named = rest
	}
	if len(named) == 0 {
		return ""
	}
	more := ""
	if n := len(named) - mostNamed; n > 0 {
		named, more = named[:mostNamed], fmt.Sprintf(" and %d more", n)
	}
	for i, f := range named {
		c.mentioned[f] = true
		if rel, err := filepath.Rel(root, f); err == nil && filepath.IsLocal(rel) {
			named[i] = filepath.ToSlash(rel)
		}
	}
	return "commands cannot read " + strings.Join(named, ", ") + more +
		", which by their names may be secrets: permission denied there is no fault of the code; the person who runs you can allow a name with secrets.allow in the configuration"
}
