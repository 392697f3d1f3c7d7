package textcall

import (
	"strings"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

const (
	cutText     = "the answer reached its token limit right behind a tool call in its text; it was not run"
	exampleText = "the answer ends with a tool call that it announces as an example; it was not run"
	unfitText   = "the answer ends with a call of %s whose arguments do not fit (%s); it was not run"
	tagsText    = "the answer is nothing but what looks like a call of a tool, in a form that cannot be read or of a tool that was not offered; it was not run"
	unreadText  = "the answer holds what looks like a call of %s, in a form that cannot be read or in a place where calls are not read; it was not run"
)

const (
	maxLooked = 256 // places where names of tools are looked at
	near      = 400 // bytes around a name that may tell
)

// possibleCall returns the tool that an answer seems to call although no call was read from it, or
// "". It is the last resort, for forms that nobody knows yet: a tool found here is never run, but
// asked about. Code followed by more prose is an example; of that only fenced blocks count, and
// only if they have a name and arguments in JSON.
func (k *kit) possibleCall(text string) string {
	if len(k.Offered) == 0 {
		return ""
	}
	if name := k.findTool(withoutExamples(text, true), k.called); name != "" || !strings.Contains(text, "```") {
		return name
	}
	return k.findTool(withoutExamples(text, false), k.named)
}

// findTool returns the first tool whose name stands between texts for which are returns true.
func (k *kit) findTool(text string, are func(tool, before, after string) bool) string {
	looked := 0
	for _, t := range k.Offered {
		for from := 0; looked < maxLooked; looked++ {
			n := strings.Index(text[from:], t.Name)
			if n < 0 || t.Name == "" {
				break
			}
			at := from + n
			from = at + len(t.Name)
			before, after := text[max(0, at-near):at], text[from:min(len(text), from+near)]
			if after != "" && word(after[:1]) > 0 && after[0] != '.' || before != "" && word(before[len(before)-1:]) > 0 && before[len(before)-1] != '.' {
				continue
			}
			if are(t.Name, before, after) {
				return t.Name
			}
		}
	}
	return ""
}

var (
	// underName matches the text before a tool's name that is the value of a key, in JSON, YAML or
	// a tag.
	underName = lazyregexp.New(`(?i)\\?["']?\b(tool_?name|function_?name|recipient_?name|tool|function|action|name)\\?["']?\s*[:=]\s*\\?["'` + "`" + `]?(functions\.)?$`)
	// argumentsKey matches a key for arguments.
	argumentsKey = lazyregexp.New(`(?i)\b(arguments|parameters|args|kwargs|inputs?|params|tool_?input|action_?input)\\?["']?\s*[:=]`)
	// inTag matches an unfinished tag before a name, or tags with only protocol words between them
	// and the name.
	inTag = lazyregexp.New(`(?i)[<\[][^<>\[\]\n]*\b(|[a-z0-9]+[_:▁-])(tools?|toolcalls?|functions?|functioncalls?|invoke|calls?|plugin)(|[_:▁-][a-z0-9▁_]+)\b[^<>\[\]\n]*([>\]]([\s"':=|{]|<[^<>\n]*>|\b(function|name|tool|call|json)\b)*<?)?$`)
	// isTag matches the start of a tag whose name, or part of it, is the tool's name.
	isTag = lazyregexp.New(`<([\w:-]+(\s+\w+)?\s*=\s*["']?)?$`)
	// addressed matches a recipient before the name.
	addressed = lazyregexp.New(`\bto=[\w.:]*$|\bcall:$`)
	// labelled matches a line that announces a tool call, such as "Action:".
	labelled = lazyregexp.New(`(?i)(^|\n)[ \t>*#-]*(action|tool|function|call|tool call|function call|calling|tool name)\**\s*:\**[ \t` + "`\"'*" + `]*$`)
	// ownLine is the beginning of a line.
	ownLine = lazyregexp.New(`(^|\n)[ \t]*(print\(|await )?\[?$|\[$`)
	// toObject matches what may stand between a name and the object of its arguments.
	toObject = lazyregexp.New(`^(["'` + "`" + `\s:=,>|)(\]\p{Pe}\p{Pf}]|\[ARGS\]|:\d+|<[^<>\n]{0,40}>|` + "```[a-z_]*\n" + `){0,12}\{\s*`)
	// callTag matches the tag or token of a call at the beginning of an answer.
	callTag = lazyregexp.New(`(?i)^<[|｜]?([a-z0-9]+[_:▁-])*(tools?|toolcalls?|functions?|functioncalls?|invoke|calls?|plugin|action)([_:▁-][a-z0-9▁_]+)*[\s|｜>]`)
	// argumentsName matches the name of arguments, as a key or a tag.
	argumentsName = lazyregexp.New(`(?i)["'<](arguments|parameters|args|kwargs|inputs?|params|tool_?input|action_?input)["'>]`)
	// toTag matches a tag after a name.
	toTag = lazyregexp.New(`^["']?\s*[^<>\n]{0,20}>?\s*<[^<>\n]{1,60}>?`)
)

// called reports whether a tool's name between these texts looks like a call.
func (k *kit) called(tool, before, after string) bool {
	if k.named(tool, before, after) {
		return true
	}
	if inTag.MatchString(before) || addressed.MatchString(before) {
		return true
	}
	if labelled.MatchString(before) && (strings.Contains(after, "{") || argumentsKey.MatchString(after)) {
		return true
	}
	if object := toObject.FindString(after); object != "" {
		if key := strings.TrimLeft(after[len(object):], `\"' `); k.property(tool, key[:identifier(key)]) {
			return true
		}
	}
	if isTag.MatchString(before) && (strings.Contains(after, "/>") || toTag.MatchString(after)) && k.hints(tool, after) {
		return true
	}
	if strings.HasSuffix(before, "</") && strings.HasPrefix(after, ">") && k.hints(tool, before) {
		return true
	}
	alone := ownLine.MatchString(before)
	if (alone || strings.HasSuffix(before, ">") || strings.HasPrefix(after, "\n<")) && toTag.MatchString(after) && k.hints(tool, after) {
		return true
	}
	return k.python(tool, after, alone)
}

// named reports whether a name is the value of a key for it, with arguments
// behind or before it.
func (k *kit) named(tool, before, after string) bool {
	return underName.MatchString(before) && (argumentsKey.MatchString(after) || argumentsKey.MatchString(before) || k.hints(tool, after))
}

// property reports whether the tool takes an argument of this name.
func (k *kit) property(tool, name string) bool {
	_, ok := k.shape(tool).Properties[name]
	return ok
}

// hints reports whether a property of the tool stands in text as the name of
// something.
func (k *kit) hints(tool, text string) bool {
	for name := range k.shape(tool).Properties {
		for from := 0; ; {
			n := strings.Index(text[from:], name)
			if n < 0 {
				break
			}
			at := from + n
			from = at + len(name)
			if at == 0 || from == len(text) {
				continue
			}
			attribute := text[at-1] == ' ' && text[from] == '=' && from+1 < len(text) && strings.IndexByte(`"'`, text[from+1]) >= 0
			if attribute || strings.IndexByte(`<"'>=/`, text[at-1]) >= 0 && strings.IndexByte(`>"'=<:`, text[from]) >= 0 {
				return true
			}
		}
	}
	return false
}

// python reports whether a name is called as a function with arguments that
// the tool takes, or, alone on its line, with anything.
func (k *kit) python(tool, after string, alone bool) bool {
	inside, ok := strings.CutPrefix(after, "(")
	if !ok {
		return false
	}
	key := inside[:identifier(inside)]
	if k.property(tool, key) && strings.HasPrefix(strings.TrimLeft(inside[len(key):], " "), "=") {
		return true
	}
	line, _, _ := strings.Cut(inside, "\n")
	_, rest, ok := strings.Cut(line, ")")
	return alone && ok && strings.Trim(rest, ")]}`;. <|>/_abcdefghijklmnopqrstuvwxyz") == ""
}

// withoutExamples removes quotations from text and, unless fences is false, fenced code that prose
// follows.
func withoutExamples(text string, fences bool) string {
	var kept strings.Builder
	for {
		n := strings.IndexByte(text, '`')
		if n < 0 {
			break
		}
		mark := text[n:][:len(text)-n-len(strings.TrimLeft(text[n:], "`"))]
		kept.WriteString(text[:n])
		rest := text[n+len(mark):]
		if len(mark) < 3 {
			rest, _, _ = strings.Cut(rest, "\n") // a quotation ends with its line
		}
		end := strings.Index(rest, mark)
		if len(mark) < 3 && end < 0 {
			kept.WriteString(mark)
			text = text[n+len(mark):]
			continue
		}
		if end < 0 {
			text = text[n:]
			break
		}
		past := n + len(mark) + end + len(mark)
		if strings.Trim(text[past:], "` \t\r\n.:") == "" {
			text = text[n:]
			break
		}
		if len(mark) >= 3 && !fences {
			kept.WriteString(text[n:past])
		}
		kept.WriteByte(' ')
		text = text[past:]
	}
	return kept.String() + text
}
