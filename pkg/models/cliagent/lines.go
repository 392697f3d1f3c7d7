package cliagent

import "bytes"

// maxLine bounds one line of a stream. Some programs write whole files into
// one; what is longer is no message.
const maxLine = 16 << 20

// A splitter cuts a stream into lines, however it comes in pieces. Its writer is
// used by one goroutine.
type splitter struct {
	line func([]byte) // a line without its end, valid until it returns
	long func()       // a line was too long and is left out

	rest    []byte
	skipped bool // the rest of a line that was too long is left out
}

// Write implements [io.Writer]. It never fails: a program must not be stopped by
// what it wrote.
func (s *splitter) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			s.keep(p)
			return n, nil
		}
		switch {
		case s.skipped:
		case len(s.rest) == 0:
			s.give(p[:i])
		default:
			s.keep(p[:i])
			s.give(s.rest)
		}
		s.rest, s.skipped = s.rest[:0], false
		p = p[i+1:]
	}
	return n, nil
}

// close gives the last line, which may lack its end.
func (s *splitter) close() {
	if !s.skipped {
		s.give(s.rest)
	}
	s.rest = nil
}

func (s *splitter) keep(p []byte) {
	if s.skipped {
		return
	}
	if len(s.rest)+len(p) > maxLine {
		s.rest, s.skipped = nil, true
		s.long()
		return
	}
	s.rest = append(s.rest, p...)
}

func (s *splitter) give(line []byte) {
	if line = bytes.TrimSpace(line); len(line) > 0 && !s.skipped {
		s.line(line)
	}
}
