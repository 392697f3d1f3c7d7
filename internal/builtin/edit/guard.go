package edit

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

func check(text, old, replacement string) error {
	switch {
	case old == "":
		return errors.New("old is empty: give the text to replace, or use write_file for a new file")
	case old == replacement:
		return errors.New("old and new are the same: nothing would change")
	case strayEscape(replacement) && !strings.Contains(strings.TrimRight(replacement, "\n"), "\n") && !strayEscape(text) && !strayEscape(old):
		return errors.New(`new is escaped twice: it has \n outside of a quotation; send newlines and tabs as they are`)
	}
	return Whole("", text, replacement)
}

// Whole refuses content that leaves out what it should hold: a placeholder
// such as "... rest of the code" on a line that text, the current content, does
// not have. A bare "..." counts too, except where it is syntax, by the file
// extension of name.
func Whole(name, text, content string) error {
	var have map[string]bool
	for l := range strings.SplitSeq(content, "\n") {
		if !omits(name, l) {
			continue
		}
		if have == nil {
			have = map[string]bool{}
			for l := range strings.SplitSeq(text, "\n") {
				have[trim(l)] = true
			}
		}
		if !have[trim(l)] {
			return fmt.Errorf("the new text leaves code out (%s); nothing was changed. Write every line in full, or edit a smaller piece", trim(clip(l)))
		}
	}
	return nil
}

// AsSent is the whole content of a file as it was meant, where a model spoiled
// it on its way: encoded twice, or with the line numbers that it was shown.
// text is the file as it is. It fails where the content is plainly spoiled and
// cannot be restored.
func AsSent(text, content string) (string, error) {
	if one := strings.TrimSpace(content); strayEscape(content) && !strings.Contains(one, "\n") && !strayEscape(text) {
		if s, ok := unescape(one); ok {
			return s + "\n", nil
		}
		return "", errors.New(`the content is escaped twice: it is one line with \n in it; send newlines and tabs as they are`)
	}
	if text != "" && !numberedFromOne(text) && numberedFromOne(content) {
		content, _, _ = unnumber(content, true)
	}
	return content, nil
}

func numberedFromOne(s string) bool {
	_, first, ok := unnumber(s, true)
	return ok && first == 1 && strings.Count(s, "\n") > 1
}

// repeats refuses a replacement that is there already, and one whose last
// lines follow the place already, or whose first lines precede it, while what
// it replaces has them not: the model quoted less than it wrote, and they would
// be there twice. Lines that say little, such as a bracket, count if the
// brackets of new are not those of old.
func repeats(text string, p place) error {
	if alreadyInserted(text, p) {
		return errMade
	}
	s := p.span
	if s.Start == s.End {
		return nil
	}
	o, ls := strings.TrimSuffix(text[s.Start:s.End], "\n"), lines(p.put)
	head, tail := lines(text[:s.Start]), text[s.End:]
	if text[s.End-1] != '\n' {
		tail = strings.TrimPrefix(tail, "\n")
	}
	next := strings.SplitN(tail, "\n", len(ls)+1)
	whole := s.Start == 0 || text[s.Start-1] == '\n'
	shifted := nesting(o) != nesting(p.put)
	for k := 1; k <= len(ls); k++ {
		last, first := ls[len(ls)-k:], ls[:k]
		if k <= len(next) && slices.Equal(next[:k], last) && distinctive(last, shifted) && !strings.HasSuffix(o, closed(last, false)) {
			return fmt.Errorf("new ends with what follows old in the file, so it would be there twice; nothing was changed. Quote it in old too if this is meant:\n%s", numbered(last, strings.Count(text[:s.End], "\n")+1))
		}
		if whole && k <= len(head) && slices.Equal(head[len(head)-k:], first) && distinctive(first, shifted) && !strings.HasPrefix(o, closed(first, false)) {
			return fmt.Errorf("new begins with what precedes old in the file, so it would be there twice; nothing was changed. Quote it in old too if this is meant:\n%s", numbered(first, len(head)-k+1))
		}
	}
	return nil
}

// distinctive reports whether lines are distinctive enough to be recognised. If brackets shift,
// any line that is not blank is.
func distinctive(ls []string, shifted bool) bool {
	return slices.ContainsFunc(ls, func(l string) bool { return len(trim(l)) >= 8 || shifted && trim(l) != "" })
}

// nesting returns the number of brackets that s leaves open.
func nesting(s string) (n int) {
	for _, c := range []byte(s) {
		switch c {
		case '(', '[', '{':
			n++
		case ')', ']', '}':
			n--
		}
	}
	return n
}

// strayEscape reports whether s has a \n that is not inside a quotation and
// looks like the end of a line.
func strayEscape(s string) bool {
	if !strings.Contains(s, `\n`) {
		return false
	}
	return strayNewline.MatchString(quotation.ReplaceAllString(s, `""`))
}

var (
	quotation    = lazyregexp.New("\"(?:[^\"\\\\\n]|\\\\.)*\"|'(?:[^'\\\\\n]|\\\\.)*'|`[^`]*`|/(?:[^/\\\\\n ]|\\\\.)+/")
	strayNewline = lazyregexp.New(`(?:^|[^\\])\\n(?:$|[ \t}\])\\A-Za-z#/])`)
)

// An omission is a comment that stands for code which is not there: "... rest
// of the code", "existing code", "unchanged ...". Without a comment sign it
// needs more words, because "...rest" is JavaScript.
var omissions = []*lazyregexp.Regexp{
	lazyregexp.New(`(?i)^\s*` + sign + `[\s(\[]*(\.\.\.|…).*\b(rest|existing|remaining|remainder|unchanged|same|previous|other|omitted)\b`),
	lazyregexp.New(`(?i)^\s*` + sign + `[\s(\[]*(the\s+)?(rest of|existing|remaining|unchanged|same as|other)\b.{0,60}(\.\.\.|…)`),
	lazyregexp.New(`(?i)^\s*` + sign + `\s*(the\s+)?(rest of (the )?(code|file|function|method|class|implementation)|existing (code|implementation)|(code|rest) (is |remains |stays )?(unchanged|omitted)|same as before|unchanged code)\s*(goes )?(here|as before|unchanged|remains)?[^a-z]*$`),
	lazyregexp.New(`(?i)^\s*[(\[]\s*(the )?(rest of|existing|remaining|unchanged)\s[^()\[\],]*(\.\.\.|…)\s*[)\]]\s*$`),
	lazyregexp.New(`(?i)^\s*[(\[]?(\.\.\.|…)\s*[(\[]?(the )?(rest of|existing (code|lines)|remaining (code|lines)|unchanged|same as before)\b`),
}

const sign = `(//|#|/\*+|<!--|--|;|\{/\*)`

var (
	bare    = lazyregexp.New(`^\s*` + sign + `?\s*[\[(]?(\.\.\.|…)[\])]?\s*(\*/\}?|-->)?\s*$`)
	uttered = lazyregexp.New(`(?i)\.(md|markdown|rst|txt|adoc|tex)$`)
	literal = lazyregexp.New(`(?i)\.(pyi?|ya?ml)$`)
)

// omits reports whether a line stands for others. Without a name it is not
// known what "..." may mean, and only words count.
func omits(name, l string) bool {
	if !strings.Contains(l, "...") && !strings.Contains(l, "…") && !strings.ContainsAny(l, "/#*-;") {
		return false
	}
	for _, re := range omissions {
		if re.MatchString(l) {
			return true
		}
	}
	if name == "" || uttered.MatchString(name) || !bare.MatchString(l) {
		return false
	}
	// Of itself it is a statement of Python and ends a document of YAML.
	return !literal.MatchString(name) || strings.ContainsAny(trim(l), "#/*-;")
}
