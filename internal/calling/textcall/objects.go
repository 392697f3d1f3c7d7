package textcall

import (
	"errors"
	"strings"
)

// objects reads a call written as a JSON object, or a list of them. tagged reports that something
// around it announces a call.
func (s *scan) objects(tagged bool) error {
	from := s.i
	p := &lenient{s: s.s, i: s.i}
	v, err := p.value()
	list := []*value{v}
	if v != nil && v.Kind == '[' {
		list = v.Kids
	}
	had, n := len(s.calls), len(list)
	for i, o := range list {
		// Only the last one can be broken: reading ended there.
		if err != nil && i == n-1 {
			s.i = p.i
			name, args, id, ok := s.calling(o, tagged)
			if !ok || args == nil && !tagged {
				break
			}
			if tagged {
				s.toEnd()
			}
			s.fixed |= p.fixes
			return s.broken(name, id, from, err)
		}
		name, args, id, ok := s.calling(o, tagged)
		if !ok || args == nil && !tagged {
			s.calls = s.calls[:had]
			return errNot
		}
		if args == nil {
			args = &value{Kind: '{'}
		}
		if gave := s.addCall(name, id, from, args); gave != nil && !tagged {
			s.calls = s.calls[:had]
			return errNot
		}
	}
	if err != nil && len(s.calls) == had {
		return err
	}
	if len(s.calls) == had {
		return errNot
	}
	s.i = p.i
	s.fixed |= p.fixes
	return nil
}

// toEnd moves to the next closing tag of calls, behind arguments that could
// not be read, or to the end.
func (s *scan) toEnd() {
	best := len(s.s)
	for _, m := range markers {
		for _, c := range m.close {
			if m.sort != opensCalls {
				continue
			}
			if n := strings.Index(s.s[s.i:best], c); n >= 0 {
				best = s.i + n
			}
		}
	}
	s.i = best
}

// calling reads an object as a call: a name and arguments, by any of the keys
// that models use for them, and nothing else. args is nil if there are none.
func (s *scan) calling(v *value, tagged bool) (name string, args *value, id string, ok bool) {
	if v == nil || v.Kind != '{' {
		return "", nil, "", false
	}
	if tagged && len(v.Keys) == 1 && v.Kids[0].Kind == '{' {
		// Apertus writes {"name": {"key": "value"}}.
		if known, ok := s.offered(v.Keys[0]); ok {
			return known, v.Kids[0], "", true
		}
	}
	if len(v.Keys) == 2 && v.Keys[0] == "action" && v.Keys[1] == "action_input" && v.Kids[0].Kind == '"' {
		v = &value{Kind: '{', Keys: []string{"name", "arguments"}, Kids: v.Kids} // LangChain's form
	}
	var wrapped *value
	var more []int
	for i, key := range v.Keys {
		kid := v.Kids[i]
		switch key {
		case "name", "tool_name", "tool", "function_name":
			if kid.Kind != '"' || name != "" {
				return "", nil, "", false
			}
			name = kid.Text
		case "arguments", "parameters", "args":
			if args != nil {
				return "", nil, "", false
			}
			args = kid
		case "function":
			if kid.Kind == '"' && name == "" {
				name = kid.Text
				continue
			}
			wrapped = kid
		case "id", "call_id", "tool_call_id":
			if kid.Kind == '"' {
				id = kid.Text
			}
		case "type", "index":
		default:
			more = append(more, i)
		}
	}
	if wrapped != nil && name == "" && args == nil && len(more) == 0 {
		name, args, _, ok = s.calling(wrapped, tagged)
		return name, args, id, ok
	}
	if name == "" || wrapped != nil {
		return "", nil, "", false
	}
	known, offered := s.offered(name)
	if !offered {
		if tagged || args != nil && len(more) == 0 {
			_, _ = s.tool(name) // for the doubt
		}
		return "", nil, "", false
	}
	if len(more) == 0 {
		return known, args, id, true
	}
	// In a tag, the other attributes may be the arguments.
	if !tagged || args != nil {
		return "", nil, "", false
	}
	flat := &value{Kind: '{'}
	for _, i := range more {
		if _, ok := s.shape(known).Properties[v.Keys[i]]; !ok {
			return "", nil, "", false
		}
		flat.Keys, flat.Kids = append(flat.Keys, v.Keys[i]), append(flat.Kids, v.Kids[i])
	}
	s.note("a tool call had its arguments beside its name; they were read from there")
	return known, flat, id, true
}

// bare reads calls that nothing announces. All of text must be calls.
func (s *scan) bare(text string) bool {
	body, lang := unfence(text)
	in := &scan{kit: s.kit, walker: walker{s: body}}
	switch {
	case lang == "tool_code" || strings.HasPrefix(body, "[") && in.pythonList():
		// Gemma's fence announces a call, so its content may be malformed.
		if lang == "tool_code" {
			in.take("print(")
		}
		if body == "" || !in.pythonWhole() {
			s.calls = nil
			return false
		}
		return len(s.calls) > 0
	case strings.HasPrefix(body, "{"), strings.HasPrefix(body, "["):
		for in.i < len(body) {
			if in.objects(false) != nil {
				break
			}
			in.skip(";,")
			if in.i < len(body) && body[in.i] != '{' && body[in.i] != '[' {
				rest := in.trailing(body[in.i:], true)
				if rest != "" && strings.Trim(rest, "]}) \n") == "" {
					s.note("a tool call was followed by brackets that belong to nothing")
					rest = ""
				}
				if rest != "" {
					if len(s.calls) > 0 {
						s.doubtful(callInProse)
					}
					s.calls = nil
					return false
				}
				in.i = len(body)
			}
		}
		n := len(s.calls)
		if n == 0 || in.i < len(body) {
			s.calls = nil
			return false
		}
		return true
	case lang != none && strings.HasPrefix(body, "<"):
		// A model that puts its tags into a fence.
		m := in.next(true)
		if m == nil || m.sort != opensCalls || in.i != 0 || !in.block(m) || strings.TrimSpace(in.trailing(body[in.i:], true)) != "" || in.unknown {
			s.calls = nil
			return false
		}
		return true
	}
	return false
}

// none is the language of text without a fence.
const none = "\x00"

// unfence takes s out of one Markdown fence around all of it.
func unfence(s string) (body, lang string) {
	inside, ok := strings.CutPrefix(s, "```")
	if !ok {
		return s, none
	}
	if inside, ok = strings.CutSuffix(inside, "```"); !ok {
		return s, none
	}
	lang, body, ok = strings.Cut(inside, "\n")
	if lang = strings.TrimSpace(lang); !ok || strings.Contains(body, "```") || !callFence(lang) {
		return s, none
	}
	return strings.TrimSpace(body), lang
}

// callFence reports whether a fenced block in this language may be a call.
func callFence(lang string) bool {
	switch lang {
	case "", "json", "tool_call", "tool_code", "xml":
		return true
	}
	return false
}

var errPositional = errors.New("arguments must be given by name")
