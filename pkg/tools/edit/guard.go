package edit

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Check refuses the edits that are wrong whatever the file holds.
func Check(old, replacement string) error { return check(old, old, replacement) }

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
// such as "... rest of the code" on a line that text, the file as it is, does
// not have. A bare "..." counts too, but not in a file of a kind, told by
// name's ending, where it means something.
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

// repeats refuses a replacement whose last lines follow the place already, or
// whose first lines precede it, while old has them not: the model quoted less
// than it wrote, and they would be there twice. Lines that say little, such as
// a bracket, count if the brackets of new are not those of old.
func repeats(text string, s Span, old, replacement string) error {
	o, n := strings.TrimSuffix(old, "\n"), strings.TrimSuffix(replacement, "\n")
	tail := text[s.End:]
	if s.End > 0 && text[s.End-1] != '\n' {
		tail = strings.TrimPrefix(tail, "\n")
	}
	head := strings.TrimSuffix(text[:s.Start], "\n")
	shifted := nesting(o) != nesting(n)
	ls := strings.Split(n, "\n")
	for k := 1; k <= min(len(ls), 12); k++ {
		last, first := strings.Join(ls[len(ls)-k:], "\n"), strings.Join(ls[:k], "\n")
		after := tail == last || strings.HasPrefix(tail, last+"\n")
		before := head == first || strings.HasSuffix(head, "\n"+first)
		switch {
		case after && !strings.HasSuffix(o, last) && (shifted && trim(last) != "" || telling(last)):
			return fmt.Errorf("new ends with what follows old in the file, so it would be there twice; nothing was changed. Quote it in old too if this is meant:\n%s", numbered(strings.Split(last, "\n"), strings.Count(text[:s.End], "\n")+1))
		case before && (s.Start == 0 || text[s.Start-1] == '\n') && !strings.HasPrefix(o, first) && (shifted && trim(first) != "" || telling(first)):
			return fmt.Errorf("new begins with what precedes old in the file, so it would be there twice; nothing was changed. Quote it in old too if this is meant:\n%s", numbered(strings.Split(first, "\n"), strings.Count(text[:s.Start], "\n")-k+1))
		}
	}
	return nil
}

// nesting is how many brackets s leaves open.
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

func telling(s string) bool {
	for l := range strings.SplitSeq(s, "\n") {
		if len(trim(l)) >= 8 {
			return true
		}
	}
	return false
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
	quotation    = regexp.MustCompile("\"(?:[^\"\\\\\n]|\\\\.)*\"|'(?:[^'\\\\\n]|\\\\.)*'|`[^`]*`|/(?:[^/\\\\\n ]|\\\\.)+/")
	strayNewline = regexp.MustCompile(`(?:^|[^\\])\\n(?:$|[ \t}\])\\A-Za-z#/])`)
)

// An omission is a comment that stands for code which is not there: "... rest
// of the code", "existing code", "unchanged ...". Without a comment sign it
// needs more words, because "...rest" is JavaScript.
var omissions = []*regexp.Regexp{
	regexp.MustCompile(`(?i)^\s*` + sign + `[\s(\[]*(\.\.\.|…).*\b(rest|existing|remaining|remainder|unchanged|same|previous|other|omitted)\b`),
	regexp.MustCompile(`(?i)^\s*` + sign + `[\s(\[]*(the\s+)?(rest of|existing|remaining|unchanged|same as|other)\b.{0,60}(\.\.\.|…)`),
	regexp.MustCompile(`(?i)^\s*` + sign + `\s*(the\s+)?(rest of (the )?(code|file|function|method|class|implementation)|existing (code|implementation)|(code|rest) (is |remains |stays )?(unchanged|omitted)|same as before|unchanged code)\s*(goes )?(here|as before|unchanged|remains)?[^a-z]*$`),
	regexp.MustCompile(`(?i)^\s*[(\[]?(\.\.\.|…)\s*[(\[]?(the )?(rest of|existing (code|lines)|remaining (code|lines)|unchanged|same as before)\b`),
}

const sign = `(//|#|/\*+|<!--|--|;|\{/\*)`

var (
	bare    = regexp.MustCompile(`^\s*` + sign + `?\s*[\[(]?(\.\.\.|…)[\])]?\s*(\*/\}?|-->)?\s*$`)
	uttered = regexp.MustCompile(`(?i)\.(md|markdown|rst|txt|adoc|tex)$`)
	literal = regexp.MustCompile(`(?i)\.(pyi?|ya?ml)$`)
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
