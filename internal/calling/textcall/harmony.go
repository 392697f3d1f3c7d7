package textcall

import "strings"

// harmonic reports whether text is a conversation in the form of gpt-oss.
func harmonic(text string) bool {
	t := strings.TrimSpace(text)
	if strings.HasPrefix(t, "to=") {
		// The prompt ended inside of the first header.
		head := t[:min(len(t), maxHeader)]
		return strings.Contains(head, "<|message|>") || strings.Contains(head, "<|channel|>")
	}
	return strings.HasPrefix(t, "<|channel|>") || strings.HasPrefix(t, "<|start|>assistant") ||
		strings.HasPrefix(t, "<|message|>")
}

const maxHeader = 256

// The tokens that come most often are first: each bounds the search for those
// behind it.
var harmonyEnds = []string{"<|channel|>", "<|start|>", "<|end|>", "<|call|>", "<|return|>", "<|eom|>", "<|eot|>"}

// harmony reads messages that each have a header, with a channel and perhaps
// a recipient, and a body.
func (s *scan) harmony() Found {
	var text, thoughts []string
	first := true
	for s.skip(""); s.i < len(s.s); s.skip("") {
		head, ok := s.until("<|message|>")
		if !ok {
			// A call without arguments may lack its body.
			head = s.s[s.i:]
			s.i = len(s.s)
		}
		from := s.i
		end, token := len(s.s), ""
		for _, e := range harmonyEnds {
			if s.never[e] {
				continue
			}
			n := strings.Index(s.s[from:end], e)
			switch {
			case n >= 0:
				end, token = from+n, e
			case end == len(s.s):
				s.forget(e)
			}
		}
		body := s.s[from:end]
		s.i = end
		if token != "<|start|>" && token != "<|channel|>" {
			s.i += len(token)
		}
		switch to := recipient(head); {
		case to == "self": // Muse Glimmer's thinking
			thoughts = append(thoughts, body)
		case to == "user":
			text = append(text, body)
		case to != "" && len(s.Offered) > 0:
			if name, err := s.tool(to); err == nil {
				s.harmonyCall(name, body, token != "")
				continue
			}
			thoughts = append(thoughts, body)
		case strings.Contains(head, "analysis"):
			thoughts = append(thoughts, body)
		case !ok && !first:
		default:
			text = append(text, body)
		}
		first = false
	}
	f := Found{Text: join(text), Thinking: join(thoughts), Calls: s.calls}
	if s.unknown {
		f.Calls = nil
	}
	return s.finish(f)
}

// recipient is whom a header is addressed to, "" if nobody.
func recipient(head string) string {
	_, to, ok := strings.Cut(head, "to=")
	if !ok {
		return ""
	}
	return to[:word(to)]
}

// harmonyCall reads a body as arguments. Junk behind them is common there.
func (s *scan) harmonyCall(name, body string, ended bool) {
	in := &scan{kit: s.kit, walker: walker{s: body}}
	in.skip("")
	if in.has("<") {
		// Glimmer writes the call in tags as well.
		if m := in.next(true); m != nil && m.sort == opensCalls && in.block(m) {
			s.unknown = s.unknown || in.unknown
			return
		}
		in.i = 0
	}
	if in.i >= len(body) {
		if !ended {
			_ = in.broken(name, "", 0, errEnd)
			return
		}
		_ = in.add(name, "", []byte("{}"))
		return
	}
	if in.arguments(name, "", 0) == nil {
		if in.skip(""); in.i < len(body) {
			s.note("what followed the arguments of a tool call was dropped")
		}
	}
}
