package permit

import (
	"path"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"github.com/adroit-run/adroit/internal/text/match"
)

// maxMoves bounds the changes of directory that are followed: each may happen or not.
const maxMoves = 4

// pathless are programs whose operands are not names of files, or that only report
// whether the files exist.
var pathless = set(`echo printf : true false exit return break continue shift wait pwd set test [ kill sleep seq basename dirname unset`)

// names reports how far a path rule holds for what the script names: as a word, in a word,
// or as the target of a redirection, in whatever directory the script may have gone to.
func (s *script) names(rule string) fit {
	dirs, lost := s.dirs()
	best := none
	note := func(text string, glob, whole, files bool) {
		for _, dir := range dirs {
			best = max(best, named(rule, dir, text, glob))
			if files {
				best = max(best, s.linked(rule, dir, text, glob))
			}
		}
		if lost && whole {
			best = max(best, maybe)
		}
	}
	for _, c := range s.commands {
		quiet := pathless[path.Base(c.words[0].text)]
		for i, w := range c.words[1:] {
			switch {
			case !w.static && !w.number && !quiet:
				best = max(best, maybe)
			case !w.static || w.text == "":
				continue
			}
			option := strings.HasPrefix(w.text, "-")
			if option && namesFrom(w.text) {
				best = max(best, maybe)
			}
			note(w.text, w.glob, !quiet && !option && !moving(c, i+1), !quiet)
			for _, part := range partsOf(w.text) {
				note(part, w.glob, false, !quiet)
			}
		}
	}
	for _, p := range slices.Concat(s.writes, s.reads) {
		note(p, false, true, true)
	}
	return best
}

// linked reports how far a path rule holds for what a word that is used in dir leads to.
func (s *script) linked(rule, dir, text string, wild bool) fit {
	if s.follow == nil {
		return none
	}
	if !path.IsAbs(text) {
		text = dir + "/" + text // as it is: what .. leads to depends on links
	}
	names, unknown := s.follow(text, wild)
	best := none
	if unknown {
		best = maybe
	}
	for _, name := range names {
		switch {
		case !match.Covers(rule, name, true):
		case wild:
			best = max(best, maybe)
		default:
			best = sure
		}
	}
	return best
}

// partsOf are the names that a word may have in it: of an option (--file=NAME, -fNAME), of a
// revision or a host (HEAD:NAME, :(top)NAME), of a list (@NAME).
func partsOf(text string) []string {
	var parts []string
	for i := range len(text) {
		if strings.IndexByte("=:)@,", text[i]) >= 0 && i+1 < len(text) {
			parts = append(parts, text[i+1:])
		}
	}
	if strings.HasPrefix(text, "-") && len(text) > 2 && text[1] != '-' {
		parts = append(parts, text[2:])
	}
	return parts
}

// namesFrom reports whether an option has a program read names of files from elsewhere.
func namesFrom(option string) bool {
	return slices.ContainsFunc([]string{"files-from", "files0-from", "from-file", "--stdin", "--batch"}, func(s string) bool { return strings.Contains(option, s) }) || option == "-T"
}

// named reports how far a path rule holds for a word that is used in dir.
func named(rule, dir, text string, wild bool) fit {
	switch p := path.Join(dir, text); {
	case !wild && match.Covers(rule, p, true), match.Covers(rule, text, true) && dir == ".":
		return sure
	case wild && mayFit(rule, p):
		return maybe
	case path.IsAbs(text) || p == ".." || strings.HasPrefix(p, "../"):
		// Where the workspace lies is not known here: any part of the name may begin in it.
		if path.IsAbs(text) {
			p = text
		}
		for {
			_, rest, ok := strings.Cut(p, "/")
			if !ok {
				return none
			}
			if p = rest; p != "" && (!wild && match.Covers(rule, p, true) || wild && mayFit(rule, p)) {
				return maybe
			}
		}
	}
	return none
}

// mayFit reports whether a name that fits a wildcard of the shell may be one that a path
// rule holds for. It errs on the side of the rule.
func mayFit(rule, wild string) bool {
	fold := func(s string) []string {
		return strings.Split(path.Clean(norm.NFC.String(strings.ToLower(s))), "/")
	}
	parts := append(fold(rule), "**")
	if len(parts) == 2 {
		parts = append([]string{"**"}, parts...)
	}
	return match.PathParts(parts, fold(wild), func(pattern, name string) bool {
		pb, pe := ends(pattern)
		nb, ne := ends(name)
		if pb == pattern && nb == name {
			return pattern == name
		}
		return (strings.HasPrefix(pb, nb) || strings.HasPrefix(nb, pb)) && (strings.HasSuffix(pe, ne) || strings.HasSuffix(ne, pe))
	})
}

// ends returns the literal beginning and end of a name with wildcards.
func ends(s string) (begin, end string) {
	const meta = `*?[]{}\`
	i := strings.IndexAny(s, meta)
	if i < 0 {
		return s, s
	}
	return s[:i], s[strings.LastIndexAny(s, meta)+1:]
}

// moving reports whether the word at i is a directory that the command goes to.
func moving(c command, i int) bool {
	base := path.Base(c.words[0].text)
	return base == "cd" || base == "chdir" || base == "pushd" || base == "popd" || i > 1 && goesTo(c.words[i-1].text)
}

// goesTo reports whether the word behind an option is a directory in which a program works.
func goesTo(option string) bool {
	return slices.Contains([]string{"-C", "--chdir", "--directory", "--work-tree", "--prefix", "--cwd", "--dir"}, option)
}

// dirs are the directories that the script may be in when it uses a name, from the top of the
// workspace. lost is set if there are others.
func (s *script) dirs() (dirs []string, lost bool) {
	dirs = []string{"."}
	moves := 0
	add := func(w word) {
		if moves++; !w.known() || w.text == "" || w.text == "-" || path.IsAbs(w.text) || moves > maxMoves {
			lost = true
			return
		}
		for _, d := range slices.Clone(dirs) {
			if at := path.Join(d, w.text); !slices.Contains(dirs, at) {
				dirs = append(dirs, at)
			}
		}
	}
	seen := map[string]bool{}
	for _, c := range s.commands {
		text := c.String()
		if seen[text] && !lost { // it is read as two languages
			continue
		}
		seen[text] = true
		for i, w := range c.words[1:] {
			name, value, joined := strings.Cut(w.text, "=")
			switch {
			case moving(c, i+1):
				add(w)
			case joined && goesTo(name):
				add(word{text: value, static: w.static, glob: w.glob})
			case strings.HasPrefix(w.text, "-C") && len(w.text) > 2:
				add(word{text: w.text[2:], static: w.static, glob: w.glob})
			case w.text == "-execdir" || w.text == "-okdir":
				lost = true
			}
		}
		if len(c.words) == 1 && moving(c, 1) {
			lost = true // home, or where it was
		}
	}
	return dirs, lost || len(dirs) > 1 && s.repeats
}
