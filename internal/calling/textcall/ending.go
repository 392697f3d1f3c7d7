package textcall

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
)

// objectAhead reports whether a line that begins like this may begin a call written as JSON, in a
// fence or not, or that this is not known yet. Only objects that name an offered tool first count:
// other JSON in a prose answer is mostly something else, and is not held back.
func (k *kit) objectAhead(line string) (calls, wait bool) {
	if len(line) > ahead {
		calls, _ = k.objectAhead(line[:ahead])
		return calls, false
	}
	if strings.HasPrefix(line, "`") {
		if len(line) < 3 {
			return false, strings.Trim(line, "`") == ""
		}
		head, body, ok := strings.Cut(line, "\n")
		lang, fenced := strings.CutPrefix(head, "```")
		if lang = strings.TrimSpace(lang); !fenced || !ok {
			return false, fenced && len(lang) < 16
		}
		if !callFence(lang) {
			return false, false
		}
		line = strings.TrimLeft(body, " \t\r\n")
	}
	p := &lenient{s: line}
	next := func() bool { return p.space() == nil && p.i < len(p.s) }
	if !next() {
		return false, true
	}
	if p.s[p.i] == '[' {
		if p.i++; !next() {
			return false, true
		}
	}
	if p.s[p.i] != '{' {
		return false, false
	}
	if p.i++; !next() {
		return false, true
	}
	if p.s[p.i] != '"' && p.s[p.i] != '\'' {
		return false, false
	}
	key, err := p.str()
	if err != nil || !next() {
		return false, len(line) < ahead
	}
	if p.s[p.i] != ':' {
		return false, false
	}
	if p.i++; !next() {
		return false, true
	}
	if key == "function" && p.s[p.i] == '{' {
		return true, false
	}
	if !nameKey(key) && key != "type" || p.s[p.i] != '"' && p.s[p.i] != '\'' {
		return false, false
	}
	name, err := p.str()
	if err != nil {
		return false, len(line) < ahead
	}
	_, offered := k.offered(name)
	return key == "type" && name == "function" || nameKey(key) && offered, false
}

// nameKey reports whether models write the name of a tool under this key.
func nameKey(key string) bool {
	return slices.Contains([]string{"name", "tool_name", "tool", "function_name", "function"}, key)
}

// ending reads calls in JSON that end an answer of prose. They are run if
// nothing follows them and their arguments fit the tool: small models write
// calls so, with native calling on. before is the text that they follow.
func (s *scan) ending(before string) bool {
	at, had, kit := s.i, len(s.calls), *s.kit
	fenced := s.has("`")
	if fenced {
		s.until("\n")
	}
	read := 0
	for s.skip(";,"); s.has("{") || s.has("["); s.skip(";,") {
		err := s.objects(false)
		if len(s.calls) == read+had {
			break
		}
		if read = len(s.calls) - had; err != nil {
			break
		}
	}
	if read == 0 {
		*s.kit = kit
		s.i = at
		return false
	}
	if fenced && s.take("```") {
		fenced = false
	}
	why := ""
	switch rest := s.trailing(s.s[s.i:], true); {
	case rest != "":
		why = callInProse
	case announcesExample(before):
		why = exampleText
	case s.Cut && s.malformed == kit.malformed:
		why = cutText // more may have followed
	}
	for _, c := range s.calls[had:] {
		if misfit := s.misfit(c.Name, c.Args); why == "" && c.Malformed == "" && misfit != "" {
			why = fmt.Sprintf(unfitText, c.Name, misfit)
		}
	}
	if why == "" && !s.unknown {
		s.i = len(s.s)
		return true
	}
	doubt := s.doubt
	*s.kit = kit
	s.doubt = doubt
	s.doubtful("%s", why)
	s.i = at
	return false
}

// react reads the one call of an answer that ends with it in the form of ReAct:
// Action, the name, Action Input and an object. It returns the prose before.
func (s *scan) react(text string) (before string, ok bool) {
	m := actionLines.Regexp().FindStringSubmatchIndex(text)
	if m == nil || actionLines.MatchString(text[m[1]:]) {
		return "", false
	}
	before = text[:m[0]]
	if s.Cut || strings.Count(before, "```")%2 == 1 || announcesExample(before) {
		return "", false
	}
	name, err := s.tool(text[m[2]:m[3]])
	if err != nil {
		return "", false
	}
	// The form has a thought before it. Behind other prose it may be a quotation.
	lead := strings.TrimSpace(before)
	if last := strings.TrimSpace(lead[strings.LastIndex(lead, "\n\n")+1:]); last != "" && !strings.HasPrefix(last, "Thought:") {
		s.doubtful(callInProse)
		return "", false
	}
	p := &lenient{s: text, i: m[1]}
	v, err := p.value()
	if err != nil || v.Kind != '{' || s.misfit(name, v.Append(nil)) != "" {
		return "", false
	}
	switch rest := strings.TrimSpace(text[p.i:]); {
	case strings.HasPrefix(rest, "Observation:"):
		s.note("the model made up the result of its call, which was left out")
	case rest != "":
		return "", false
	}
	s.fixed |= p.fixes
	return before, s.add(name, "", v.Append(nil)) == nil
}

// actionLines are the lines of a call in the form of ReAct, up to its arguments.
var actionLines = lazyregexp.New(`(?m)^[ \t]*Action:[ \t]*([A-Za-z][\w.-]*)[ \t]*\n[ \t]*Action Input:[ \t]*`)

// unknownCall has the model asked about an object at the end of its answer, in a
// fence or not, that is a call of a tool that was not offered, and about an answer all in tags of one.
func (s *scan) unknownCall(text string) {
	if callTag.MatchString(text) && strings.HasSuffix(text, ">") && argumentsName.MatchString(text) {
		s.doubtful(tagsText)
	}
	at := strings.LastIndex(text, "\n{") + 1
	body := text[at:]
	if inside, ok := strings.CutSuffix(text, "```"); ok {
		at = strings.LastIndex(inside, "```")
		if at < 0 {
			return
		}
		lang, rest, ok := strings.Cut(inside[at+3:], "\n")
		if !ok || !callFence(strings.TrimSpace(lang)) {
			return
		}
		body = rest
	}
	if announcesExample(text[:at]) {
		return
	}
	if v, _, err := parseLenient(strings.TrimSpace(body)); err == nil {
		_, _, _, _ = s.calling(v, false) // for the doubt
	}
}

// announcesExample reports whether the last line of prose announces an example, or forbids what
// follows.
func announcesExample(before string) bool {
	before = strings.ToLower(strings.TrimSpace(before))
	line := before[strings.LastIndexByte(before, '\n')+1:]
	return slices.ContainsFunc([]string{"example", "for instance", "e.g.", "like so", "like this", "format", "syntax", "schema", "injected", "injection", "will not", "won't", "did not", "didn't", "do not", "don't", "never", "ignor", "refus"},
		func(word string) bool { return strings.Contains(line, word) })
}

// misfit describes what is wrong with the arguments of a call that only its position marks as one,
// or returns "". Calls with a marker are left to validation.
func (k *kit) misfit(tool string, args json.RawMessage) string {
	in := k.shape(tool)
	var given map[string]any
	if json.Unmarshal(args, &given) != nil {
		return "they are no object"
	}
	for _, name := range in.Required {
		if _, ok := given[name]; !ok {
			return name + " is missing"
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		v := given[name]
		prop, known := in.Properties[name]
		if !known && len(in.Properties) > 0 {
			return name + " is not known"
		}
		want := map[string]bool{}
		if prop.allows(want); len(want) > 0 && !fitsType(want, v) {
			return name + " has the wrong type"
		}
		if text, ok := v.(string); ok && placeholder(text) {
			return name + " is a placeholder"
		}
	}
	return ""
}

func fitsType(want map[string]bool, v any) bool {
	switch v.(type) {
	case string:
		return true // numbers and lists are written in strings; validation judges
	case float64:
		return want["number"] || want["integer"]
	case bool:
		return want["boolean"]
	case nil:
		return want["null"]
	case []any:
		return want["array"]
	}
	return want["object"]
}

// placeholder reports whether text stands for a value rather than being one.
func placeholder(text string) bool {
	return text == "..." || text == "…" || len(text) > 2 && text[0] == '<' && strings.IndexByte(text, '>') == len(text)-1 && !strings.Contains(text, "\n")
}
