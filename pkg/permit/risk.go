package permit

import (
	"regexp"
	"slices"
	"strings"
)

// risky are options that make a harmless program run another, or write. A rule
// that allows the program does not allow them unless it names them.
var risky = map[string][]string{
	"rg":    {"--pre", "--hostname-bin"},
	"fd":    {"-x", "-X", "--exec", "--exec-batch"},
	"find":  {"-delete", "-fprint", "-fprint0", "-fprintf", "-fls"},
	"git":   {"-c", "--config-env", "--exec-path", "--git-dir", "--work-tree", "--exec", "-x", "--upload-pack", "--receive-pack", "--ext-diff", "--textconv", "-O", "--open-files-in-pager", "--output", "--paginate", "--force", "-f", "run", "foreach", "--template", "--config"},
	"go":    {"-exec", "--exec", "-toolexec", "--toolexec", "-vettool", "--vettool", "-overlay", "--overlay", "-modfile", "--modfile", "-w", "-C", "-o"},
	"tar":   {"--checkpoint-action", "--to-command", "--use-compress-program", "-I", "--rsh-command", "--rmt-command", "--info-script", "--new-volume-script", "-F"},
	"zip":   {"-T", "-TT", "--unzip-command"},
	"sort":  {"--compress-program", "-o", "--output", "-T"},
	"split": {"--filter"},
	"curl":  {"-o", "-O", "--output", "--remote-name", "-K", "--config", "-T", "--upload-file", "-d", "--data", "-F", "--form"},
	"wget":  {"--use-askpass", "-O", "-P", "--post-file", "--post-data", "--body-file", "-e", "--execute", "--config", "-i"},
	"rsync": {"-e", "--rsh", "--rsync-path"},
	"ssh":   {"-o", "-F"}, "scp": {"-o", "-F", "-S"},
	"npm": {"--script-shell", "--node-options", "--prefix"}, "cargo": {"--config"}, "make": {"-f", "--file", "--eval", "-C", "-I"},
	"pytest": {"-p", "-c", "--rootdir", "-o", "--override-ini"}, "gcc": {"-wrapper", "-B", "-fplugin", "-specs"},
	"man": {"-P", "--pager", "-H"}, "date": {"-s", "--set"}, "yq": {"-i"}, "ls": {}, "uniq": {}, "diff": {"-l", "--paginate"}, "file": {"-C", "-m"},
	"sed": {"-i", "--in-place", "-f", "--file", "-s"}, "perl": {"-e", "-E", "-i", "-M"}, "ruby": {"-e"}, "node": {"-e", "-p", "--eval", "--print", "-r", "--require", "--import"},
}

// plainSed is what a script of sed may be to do nothing but print and replace.
var plainSed = regexp.MustCompile(`^(([0-9$]+(,[0-9$]+)?)?[pdq=]|s/[^/\n\\]*/[^/\n\\]*/[gpI0-9]*|/[^/\n\\]*/[pd])$`)

// risks are the words of a command that a rule must name to allow them. A word
// that is made up at run time may be such an option too.
func risks(base string, words []word) []string {
	var out []string
	list, listed := risky[base]
	for _, w := range words[1:] {
		if !w.known() {
			if listed && (w.option() || w.spread) || base == "sed" || base == "awk" || base == "gawk" || base == "mawk" {
				out = append(out, "…")
			}
			continue
		}
		if slices.ContainsFunc(list, func(o string) bool { return sameOption(o, w.text) }) {
			out = append(out, w.text)
		}
	}
	switch base {
	case "sed":
		out = append(out, sedRisks(words[1:])...)
	case "awk", "gawk", "mawk":
		for _, w := range words[1:] {
			if strings.HasPrefix(w.text, "-") && !strings.HasPrefix(w.text, "-F") || strings.ContainsAny(w.text, "|>@") || strings.Contains(w.text, "system") || strings.Contains(w.text, "getline") {
				out = append(out, w.text)
			}
		}
	}
	return out
}

// sameOption reports whether w is option o, perhaps shortened or with a value.
func sameOption(o, w string) bool {
	name, _, _ := strings.Cut(w, "=")
	switch {
	case name == o:
		return true
	case strings.HasPrefix(o, "--"):
		return len(name) > 2 && strings.HasPrefix(o, name) // programs take the beginning of a long option
	case len(o) == 2 && o[0] == '-' && strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--"):
		return strings.Contains(w[1:], o[1:]) // among other letters, or with its value
	}
	return false
}

func sedRisks(words []word) []string {
	var out []string
	given := false
	for i := 0; i < len(words); i++ {
		w := words[i].text
		switch {
		case w == "-e" || w == "--expression":
			given = true
			if i++; i < len(words) && !plainSed.MatchString(words[i].text) {
				out = append(out, words[i].text)
			}
		case strings.HasPrefix(w, "-e") || strings.HasPrefix(w, "--e"):
			out = append(out, w)
		case strings.HasPrefix(w, "-"):
		case !given:
			given = true
			if !plainSed.MatchString(w) {
				out = append(out, w)
			}
		}
	}
	return out
}
