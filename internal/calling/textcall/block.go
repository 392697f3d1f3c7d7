package textcall

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/pkg/llm"
)

var errNot = errors.New("this is no call")

// maxRaw bounds the text that is kept of an unreadable call.
const maxRaw = 64 << 10

// block reads the calls that m opens and moves behind them. It reports
// whether there were any; if not, nothing has changed but the doubt.
func (s *scan) block(m *marker) bool {
	had, begun := len(s.calls), false
	s.i, s.end = m.body(s.i), "</tool_call>"
	if strings.HasSuffix(m.open, "tool_call>") || strings.HasSuffix(m.open, "tool_call:opensource>") {
		s.end = m.close[0]
	}
	if m.open == "<|action_start|>" {
		s.skip("")
		s.take("<|plugin|>")
	}
	for {
		s.skip(",;")
		if s.i >= len(s.s) || s.takeAny(m.close) {
			break
		}
		if s.take("```json") || s.take("```") {
			continue
		}
		if s.nested(m, &begun) {
			continue
		}
		if len(s.calls) > had && !begun && !s.itemHere(m) {
			if s.junk(m.close) {
				continue
			}
			break
		}
		begun = false
		if err := s.item(); err != nil {
			if len(s.calls) == had {
				return false
			}
			break
		}
	}
	return len(s.calls) > had
}

// nested takes the tags that Hunyuan puts around each call of a list.
func (s *scan) nested(m *marker, begun *bool) bool {
	suffix, list := strings.CutPrefix(m.open, "<tool_calls")
	if !list {
		return false
	}
	if s.take("<tool_call" + suffix) {
		*begun, s.end = true, "</tool_call"+suffix
		return true
	}
	return s.take("</tool_call" + suffix)
}

func (s *scan) takeAny(list []string) bool {
	return slices.ContainsFunc(list, s.take)
}

// itemHere reports whether another item can begin here, behind the first.
func (s *scan) itemHere(m *marker) bool {
	if s.has("[TOOL_CALLS]") {
		return false
	}
	if slices.ContainsFunc([]string{"{", "[", "<function=", minimax + "<invoke ", "<｜tool▁call▁begin｜>", "<｜tool_call_begin｜>", "<|tool_call_begin|>", "<|open|>call ", "call:"}, s.has) {
		return true
	}
	for _, e := range elements {
		if s.has("<" + e.call + " ") {
			return true
		}
	}
	if m.open != "<function_calls>" && m.open != "<|python_start|>" && m.open != "<|tool_call_start|>" {
		return false
	}
	_, ok := s.offered(s.s[s.i:][:word(s.s[s.i:])])
	return ok
}

// junk skips stray closing brackets, if an end follows them.
func (s *scan) junk(closers []string) bool {
	at := s.i
	for s.i < len(s.s) && strings.IndexByte("]}) \n", s.s[s.i]) >= 0 {
		s.i++
	}
	if s.i > at {
		for _, c := range closers {
			if s.has(c) || s.i == len(s.s) {
				s.note("a tool call was followed by brackets that belong to nothing")
				return true
			}
		}
	}
	s.i = at
	return false
}

// word returns the length of a tool's name, with a namespace, at the start of s.
func word(s string) int {
	for i := range len(s) {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.') {
			return i
		}
	}
	return len(s)
}

// item reads one call, or a list of them, and moves behind it. If the error
// is not nil, no call was added, or the last one added is Malformed.
func (s *scan) item() error {
	switch {
	case s.has("{"):
		return s.objects(true)
	case s.has("["):
		at := s.i
		if s.i++; s.pythonAhead() {
			return s.python(true)
		}
		s.i = at
		return s.objects(true)
	case s.take("<function="):
		return s.function()
	case s.take("<｜tool▁call▁begin｜>"):
		return s.deepseek("<｜tool▁sep｜>", "<｜tool▁call▁end｜>")
	case s.take("<｜tool_call_begin｜>"):
		return s.deepseek("<｜tool_sep｜>", "<｜tool_call_end｜>")
	case s.take("<|tool_call_begin|>"):
		return s.kimi()
	case s.take("<|open|>call "):
		return s.kimi3()
	case s.take("call:"):
		return s.gemma()
	}
	if s.take(minimax + "<invoke ") {
		return s.minimax()
	}
	for _, e := range elements {
		if s.take("<" + e.call + " ") {
			return s.invoke(e)
		}
	}
	if s.pythonAhead() {
		return s.python(false)
	}
	return s.named()
}

// named reads a name and its arguments: keys and values in tags as GLM writes them, or JSON, with
// or without Mistral's [ARGS].
func (s *scan) named() error {
	at := s.i
	s.i += word(s.s[s.i:])
	name, known := s.offered(s.s[at:s.i])
	if !known {
		for _, sign := range []string{"[ARGS]", "[CALL_ID]", "{", "<tool_sep>", "<arg_key", "\n<arg_key", "<longcat_arg_key", "\n<longcat_arg_key", s.end} {
			if s.has(sign) {
				_, err := s.tool(s.s[at:s.i])
				return err
			}
		}
		return errNot
	}
	var id string
	if s.take("[CALL_ID]") {
		id = s.s[s.i:][:word(s.s[s.i:])]
		s.i += len(id)
	}
	s.take("<tool_sep>")
	if s.take("[ARGS]") || s.has("{") {
		return s.arguments(name, id, at)
	}
	s.skip("")
	switch {
	case s.i >= len(s.s):
		return s.broken(name, id, at, errEnd)
	case s.has("{"):
		return s.arguments(name, id, at)
	case s.has(s.end):
		return s.pairs(name, at, pairTags[0])
	}
	for _, tags := range pairTags {
		if s.has(tags.key) {
			return s.pairs(name, at, tags)
		}
	}
	return errNot
}

// tool returns the offered tool that name means.
func (s *scan) tool(name string) (string, error) {
	found, ok := s.offered(name)
	if !ok {
		if name = strings.TrimSpace(name); word(name) == len(name) && name != "" && len(name) <= 64 {
			s.doubtful("the answer calls %q, which is no tool that was offered; nothing was run", name)
			s.unknown = true
		}
		return "", errNot
	}
	return found, nil
}

// add appends a call that could be read.
func (s *scan) add(name, id string, args json.RawMessage) error {
	s.calls = append(s.calls, llm.Call{ID: id, Name: name, Args: args})
	return nil
}

// broken appends a call that could not be read: it began at from, and err is the reason.
func (s *scan) broken(name, id string, from int, err error) error {
	why := "the arguments cannot be read: " + err.Error() + "; send the call again"
	switch {
	case errors.Is(err, errEnd) && s.Cut:
		why = "the answer reached its token limit before the arguments were complete; send fewer or shorter arguments"
	case errors.Is(err, errEnd):
		why = "the call ends before its arguments are complete; send it again, whole"
	}
	s.malformed++
	raw := s.s[min(from, len(s.s)):]
	if errors.Is(err, errEnd) {
		s.i = len(s.s)
	} else if s.i > from {
		raw = s.s[from:s.i]
	}
	if len(raw) > maxRaw {
		raw = raw[:maxRaw]
	}
	s.calls = append(s.calls, llm.Call{ID: id, Name: name, Args: json.RawMessage("{}"), Malformed: why, Raw: strings.ToValidUTF8(raw, "\ufffd")})
	return err
}

// arguments reads JSON as the arguments of a call that began at from.
func (s *scan) arguments(name, id string, from int) error {
	p := &lenient{s: s.s, i: s.i}
	v, err := p.value()
	s.i = p.i
	s.fixed |= p.fixes
	if err != nil {
		return s.broken(name, id, from, err)
	}
	return s.addCall(name, id, from, v)
}

// addCall appends a call whose arguments are an object, or a string that contains one.
func (s *scan) addCall(name, id string, from int, v *value) error {
	if v.Kind == '"' {
		inner, fixed, err := parseLenient(v.Text)
		switch {
		case strings.TrimSpace(v.Text) == "":
			inner = &value{Kind: '{'}
		case err != nil:
			return s.broken(name, id, from, err)
		}
		s.fixed |= fixed
		v = inner
	}
	switch v.Kind {
	case '{':
		return s.add(name, id, v.Append(nil))
	case 'n':
		return s.add(name, id, json.RawMessage("{}"))
	}
	return s.broken(name, id, from, errors.New("they are no object"))
}

// kimi3 reads a call as Kimi K3 writes it: elements whose tags are tokens of
// their own, so that a value stands between them as it is.
func (s *scan) kimi3() error {
	const sep, closed, open, end = "<|sep|>", "<|close|>call<|sep|>", "<|open|>argument ", "<|close|>argument<|sep|>"
	from := s.i
	head, ok := s.until(sep)
	if !ok {
		return errNot
	}
	name, err := s.tool(attribute(head, "tool"))
	if err != nil {
		return err
	}
	args := &value{Kind: '{'}
	for {
		s.skip("")
		switch {
		case s.take(closed):
			return s.add(name, "", args.Append(nil))
		case s.take(open):
			head, ok := s.until(sep)
			if !ok {
				return s.broken(name, "", from, errEnd)
			}
			text, ok := s.until(end)
			if !ok {
				return s.broken(name, "", from, errEnd)
			}
			key := attribute(head, "key")
			v := &value{Kind: '"', Text: text}
			if attribute(head, "type") != "string" {
				v = s.coerce(name, key, text)
			}
			args.Keys, args.Kids = append(args.Keys, key), append(args.Kids, v)
		case s.i >= len(s.s) || strings.HasPrefix(closed, s.s[s.i:]) || strings.HasPrefix(open, s.s[s.i:]):
			return s.broken(name, "", from, errEnd)
		default:
			return errNot
		}
	}
}

// Synonyms maps other programs' names of tools, folded, to the names used here. All of these only
// read, or end the work: a call that writes, runs or publishes is run only under the name of its
// tool, however that is spelled.
var Synonyms = map[string]string{
	"read": "read_file", "view": "read_file", "viewfile": "read_file", "openfile": "read_file", "getfile": "read_file", "cat": "read_file", "filereader": "read_file",
	"ls": "list_files", "listdir": "list_files", "listdirectory": "list_files", "list": "list_files", "getfiles": "list_files",
	"completetask": "finish", "attemptcompletion": "finish", "taskcomplete": "finish", "finishtask": "finish",
	"grep": "search", "searchtext": "search", "searchfiles": "search", "searchcode": "search", "grepsearch": "search", "codesearch": "search", "findinfiles": "search",
}

// Meant returns the offered tool that an unknown name stands for: a tool whose name is spelled
// differently, or that other programs call so.
func Meant(name string, offered []llm.ToolSpec) (string, bool) {
	fold, found := spelling.Fold(name), ""
	for _, t := range offered {
		if spelling.Fold(t.Name) != fold {
			continue
		}
		if found != "" {
			return "", false // two have it
		}
		found = t.Name
	}
	if found != "" {
		return found, true
	}
	for _, t := range offered {
		if t.Name == Synonyms[fold] {
			return t.Name, true
		}
	}
	return "", false
}

// namespaces are prefixes that models put before tool names.
var namespaces = []string{"functions", "function", "tools", "tool", "default_api"}

// BareName strips from a tool's name what models add to it: the namespace that their template has
// for all tools, quotes, and trailing tokens. Any other namespace belongs to another server's tool
// and stays.
func BareName(name string) string {
	name, _, _ = strings.Cut(name, "<|")
	name = strings.Trim(strings.TrimSpace(name), "`\"'")
	for _, n := range namespaces {
		if rest, ok := strings.CutPrefix(name, n); ok {
			for _, sep := range []string{".", "::", ":", "/"} {
				if short, ok := strings.CutPrefix(rest, sep); ok && short != "" {
					return short
				}
			}
		}
	}
	return name
}
