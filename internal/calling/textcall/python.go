package textcall

import (
	"errors"
	"strings"
)

// pythonAhead reports whether a function of an offered tool is called here.
func (s *scan) pythonAhead() bool {
	at := s.i
	defer func() { s.i = at }()
	s.skip("")
	n := word(s.s[s.i:])
	if n == 0 || !strings.HasPrefix(s.s[s.i+n:], "(") {
		return false
	}
	_, ok := s.offered(s.s[s.i : s.i+n])
	return ok
}

// pythonList reports whether a list of calls begins here.
func (s *scan) pythonList() bool {
	at := s.i
	defer func() { s.i = at }()
	return s.take("[") && s.pythonAhead()
}

// pythonWhole reads calls up to the end of the text, which must contain nothing else. A call that
// is merely malformed does not count here.
func (s *scan) pythonWhole() bool {
	listed := s.take("[")
	for {
		s.skip(",;")
		if s.i >= len(s.s) {
			return !listed
		}
		if listed && s.take("]") {
			s.skip("")
			return s.trailing(s.s[s.i:], true) == ""
		}
		if !listed && s.has(")") && strings.HasPrefix(s.s, "print(") {
			s.i++
			continue
		}
		if s.pythonCall() != nil {
			return false
		}
	}
}

// python reads one call, or, after an opening bracket, the calls of a list.
func (s *scan) python(listed bool) error {
	for {
		if err := s.pythonCall(); err != nil {
			return err
		}
		if !listed {
			return nil
		}
		s.skip(",")
		if s.take("]") || !s.pythonAhead() {
			return nil
		}
	}
}

// pythonCall reads f(a=1, b="x").
func (s *scan) pythonCall() error {
	s.skip("")
	from := s.i
	n := word(s.s[s.i:])
	if !strings.HasPrefix(s.s[s.i+n:], "(") {
		return errNot
	}
	name, err := s.tool(s.s[s.i : s.i+n])
	if err != nil {
		return err
	}
	s.i += n + 1
	args := &value{Kind: '{'}
	for {
		s.skip(",")
		if s.i >= len(s.s) {
			return s.broken(name, "", from, errEnd)
		}
		if s.take(")") {
			return s.add(name, "", args.Append(nil))
		}
		n := identifier(s.s[s.i:])
		after := strings.TrimLeft(s.s[s.i+n:], " ")
		switch {
		case n > 0 && s.i+n == len(s.s):
			return s.broken(name, "", from, errEnd)
		case n == 0 || !strings.HasPrefix(after, "="):
			s.pythonSkip()
			return s.broken(name, "", from, errPositional)
		}
		key := s.s[s.i : s.i+n]
		s.i = len(s.s) - len(after) + 1
		p := &lenient{s: s.s, i: s.i}
		v, err := p.value()
		if s.i = p.i; err != nil {
			if !errors.Is(err, errEnd) {
				s.pythonSkip()
			}
			return s.broken(name, "", from, err)
		}
		args.Keys, args.Kids = append(args.Keys, key), append(args.Kids, v)
	}
}

// pythonSkip moves to the end of the line, behind arguments that cannot be
// read.
func (s *scan) pythonSkip() {
	if n := strings.IndexByte(s.s[s.i:], '\n'); n >= 0 {
		s.i += n
		return
	}
	s.i = len(s.s)
}

// gemma reads NAME{key:<escape>text<escape>,n:1}. Strings stand between two
// marks that cannot be part of them.
func (s *scan) gemma() error {
	from := s.i
	n := word(s.s[s.i:])
	name, err := s.tool(s.s[s.i : s.i+n])
	if err != nil {
		return err
	}
	if s.i += n; s.i >= len(s.s) {
		return s.broken(name, "", from, errEnd)
	}
	if !s.has("{") {
		return errNot
	}
	v, err := s.gemmaValue(0, func(key, text string) *value { return s.coerce(name, key, text) })
	if err != nil {
		return s.broken(name, "", from, err)
	}
	return s.add(name, "", v.Append(nil))
}

func (s *scan) gemmaValue(depth int, scalar func(key, text string) *value) (*value, error) {
	if depth > maxDepth {
		return nil, errDeep
	}
	closing := map[byte]string{'{': "}", '[': "]"}[s.s[s.i]]
	v := &value{Kind: s.s[s.i]}
	s.i++
	for {
		s.skip(",")
		if s.i >= len(s.s) {
			return nil, errEnd
		}
		if s.take(closing) {
			return v, nil
		}
		var key string
		if v.Kind == '{' {
			var ok bool
			if key, ok = s.gemmaString(); !ok {
				n := strings.IndexByte(s.s[s.i:], ':')
				if n < 0 {
					return nil, errEnd
				}
				key = strings.Trim(s.s[s.i:s.i+n], ` "'`)
				s.i += n
			}
			s.skip("")
			if !s.take(":") {
				return nil, errNot
			}
			s.skip("")
			v.Keys = append(v.Keys, key)
		}
		if s.i >= len(s.s) {
			return nil, errEnd
		}
		if text, ok := s.gemmaString(); ok {
			v.Kids = append(v.Kids, &value{Kind: '"', Text: text})
			continue
		}
		for _, mark := range gemmaMarks {
			if follows(s.s[s.i:], mark) {
				return nil, errEnd
			}
		}
		if s.has("{") || s.has("[") {
			kid, err := s.gemmaValue(depth+1, func(_, text string) *value { return literalOr(text) })
			if err != nil {
				return nil, err
			}
			v.Kids = append(v.Kids, kid)
			continue
		}
		n := strings.IndexAny(s.s[s.i:], ",}]")
		if n < 0 {
			return nil, errEnd
		}
		text := strings.TrimSpace(s.s[s.i : s.i+n])
		s.i += n
		v.Kids = append(v.Kids, scalar(key, text))
	}
}

var gemmaMarks = []string{"<escape>", `<|"|>`}

func (s *scan) gemmaString() (string, bool) {
	for _, mark := range gemmaMarks {
		at := s.i
		if s.take(mark) {
			if text, ok := s.until(mark); ok {
				return text, true
			}
			s.i = at
		}
	}
	return "", false
}

func literalOr(text string) *value {
	if v, _, err := parseLenient(text); err == nil {
		return v
	}
	return &value{Kind: '"', Text: text}
}
