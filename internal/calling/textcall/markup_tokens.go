package textcall

import (
	"strings"
)

// minimax is the token before each tag of MiniMax M3.
const minimax = "]<]minimax[>["

// minimax reads a call whose parameters are elements with their names, which contain text or
// further elements.
func (s *scan) minimax() error {
	from := s.i
	head, ok := s.until(">")
	if !ok {
		return errNot
	}
	name, err := s.tool(attribute(head, "name"))
	if err != nil {
		return err
	}
	args, err := s.children(minimax+"</invoke>", s.shape(name), 0)
	if err == errNot {
		return s.garbled(name, from)
	}
	if err != nil {
		return s.broken(name, "", from, err)
	}
	args.Kind = '{'
	return s.add(name, "", args.Append(nil))
}

// children reads elements up to end. Elements that are all named item are a
// list.
func (s *scan) children(end string, in shape, depth int) (*value, error) {
	if depth > maxDepth {
		return nil, errDeep
	}
	v, items := &value{Kind: '{'}, true
	for s.skip(""); !s.take(end); s.skip("") {
		if rest := s.s[s.i:]; strings.HasPrefix(end, rest) || strings.HasPrefix(minimax+"<", rest) {
			return nil, errEnd
		}
		if !s.take(minimax + "<") {
			return nil, errNot
		}
		key, ok := s.until(">")
		if !ok {
			return nil, errEnd
		}
		shut, kid := minimax+"</"+key+">", in.Properties[key]
		if items = items && key == "item"; items && in.Items != nil {
			kid = *in.Items
		}
		value, err := s.element(shut, kid, depth)
		if err != nil {
			return nil, err
		}
		v.Keys, v.Kids = append(v.Keys, key), append(v.Kids, value)
	}
	if items && len(v.Kids) > 0 {
		v.Kind, v.Keys = '[', nil
	}
	return v, nil
}

func (s *scan) element(shut string, of shape, depth int) (*value, error) {
	at := s.i
	if s.skip(""); s.has(minimax+"<") && !s.has(shut) {
		return s.children(shut, of, depth+1)
	}
	s.i = at
	text, ok := s.until(shut)
	switch {
	case !ok:
		return nil, errEnd
	case strings.Contains(text, minimax):
		return nil, errNot
	}
	return s.typed(of, true, text), nil
}

// attribute returns the value of an attribute in a tag, or "".
func attribute(head, name string) string {
	_, rest, ok := strings.Cut(" "+head, " "+name+"=")
	if !ok || rest == "" {
		return ""
	}
	if q := rest[:1]; q == `"` || q == "'" {
		inside, _, _ := strings.Cut(rest[1:], q)
		return inside
	}
	inside, _, _ := strings.Cut(rest, " ")
	return inside
}

// deepseek reads one call behind its opening token: the name and JSON, or
// the word function first and the JSON in a fence, or Step's <invoke>.
func (s *scan) deepseek(sep, end string) error {
	from := s.i
	head, ok := s.until(sep)
	if !ok {
		return errNot
	}
	if strings.TrimSpace(head) == "function" {
		s.skip("")
		if s.take("<steptml:invoke ") {
			if err := s.invoke(element{"steptml:invoke", "steptml:parameter"}); err != nil {
				return err
			}
			s.skip("")
			s.take(end)
			return nil
		}
		head = s.s[s.i:][:word(s.s[s.i:])]
		s.i += len(head)
	}
	name, err := s.tool(head)
	if err != nil {
		return err
	}
	s.skip("")
	fenced := s.take("```json") || s.take("```")
	if err := s.arguments(name, "", from); err != nil {
		return err
	}
	s.skip("")
	if fenced {
		s.take("```")
		s.skip("")
	}
	s.take(end)
	return nil
}

// kimi reads functions.NAME:N, the token before the arguments, and JSON.
func (s *scan) kimi() error {
	from := s.i
	head, ok := s.until("<|tool_call_argument_begin|>")
	if !ok {
		return errNot
	}
	id := strings.TrimSpace(head)
	full, _, _ := strings.Cut(id, ":")
	name, err := s.tool(full)
	if err != nil {
		return err
	}
	s.skip("")
	if s.take("<|tool_call_end|>") {
		return s.add(name, id, []byte("{}"))
	}
	if err := s.arguments(name, id, from); err != nil {
		return err
	}
	s.skip("]}")
	s.take("<|tool_call_end|>")
	return nil
}
