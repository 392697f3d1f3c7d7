package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/text/jsontext"
	"github.com/adroit-run/adroit/pkg/adroit"
	sdk "github.com/coder/acp-go-sdk"
)

// The library (v0.13) knows neither session/delete nor its capability: the method is read
// under the name of an extension, and the capability is added to what it writes first.
const (
	deleteMethod    = "session/delete"
	extensionMethod = "_" + deleteMethod
)

// An editorInput passes on the editor's messages with the method renamed.
type editorInput struct {
	lines jsontext.Lines
	rest  []byte
}

// maxMessage is the size in bytes of a message, a little less than at which the library ends the connection.
const maxMessage = 10<<20 - 1<<10

// Read implements [io.Reader].
func (in *editorInput) Read(b []byte) (int, error) {
	for len(in.rest) == 0 {
		line, err := in.lines.Next()
		if err != nil {
			return 0, err
		}
		in.rest = renamed(line)
	}
	n := copy(b, in.rest)
	in.rest = in.rest[n:]
	return n, nil
}

func renamed(line []byte) []byte {
	var m map[string]json.RawMessage
	var method string
	if !bytes.Contains(line, []byte(deleteMethod)) || json.Unmarshal(line, &m) != nil || json.Unmarshal(m["method"], &method) != nil || method != deleteMethod {
		return line
	}
	m["method"] = json.RawMessage(`"` + extensionMethod + `"`)
	out, err := json.Marshal(m)
	if err != nil {
		return line
	}
	return append(out, '\n')
}

// withDelete adds the capability to the answer to initialize.
func withDelete(b []byte) (out []byte, done bool) {
	const list = `"sessionCapabilities":{`
	out = bytes.Replace(b, []byte(list), []byte(list+`"delete":{},`), 1)
	return out, len(out) != len(b)
}

// HandleExtensionMethod implements [sdk.ExtensionMethodHandler].
func (s *server) HandleExtensionMethod(ctx context.Context, method string, params json.RawMessage) (any, error) {
	if method != extensionMethod {
		return nil, sdk.NewMethodNotFound(method)
	}
	var p struct {
		SessionID sdk.SessionId `json:"sessionId"`
	}
	if err := json.Unmarshal(params, &p); err != nil || p.SessionID == "" {
		return nil, sdk.NewInvalidParams(map[string]any{"error": "sessionId is missing"})
	}
	return struct{}{}, s.remove(ctx, p.SessionID)
}

// remove removes the job of a session, as adroit jobs rm does: not one that runs, nor one
// whose worktree has what is nowhere else.
func (s *server) remove(ctx context.Context, id sdk.SessionId) error {
	ses, _ := s.session(id)
	if ses != nil && !ses.turn.TryLock() {
		return sdk.NewInvalidParams(map[string]any{"error": "a turn of the session is in progress: cancel it first"})
	} else if ses != nil {
		defer ses.turn.Unlock()
	}
	if ses == nil || ses.job != "" {
		j, err := s.find(ctx, id, "")
		if err != nil {
			return failure(err)
		}
		removed, err := s.c.Remove(ctx, j.ID, adroit.RemoveOptions{})
		if err != nil {
			return failure(err)
		}
		for _, note := range removed.Notes {
			s.log().Warn(note)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, id)
	return nil
}

// A fileDiff is the change of a file: its changed parts before and after.
type fileDiff struct {
	path     string
	old, new string
	line     int // the first of them, from 1
}

// maxDiff bounds the text of a file that an editor is sent.
const maxDiff = 64 << 10

// splitDiff takes a unified diff of git's form apart, a file that is too long left
// out.
func splitDiff(diff string) (out []fileDiff) {
	var f *fileDiff
	var from, to strings.Builder
	hunk := false
	flush := func() {
		if f != nil && from.Len()+to.Len() <= maxDiff && from.String() != to.String() {
			f.old, f.new = from.String(), to.String()
			out = append(out, *f)
		}
		f, hunk = nil, false
		from.Reset()
		to.Reset()
	}
	begin := func(name string) {
		name = strings.TrimSuffix(name, "\t")
		if s, err := strconv.Unquote(name); err == nil { // git's escapes are Go's
			name = s
		}
		if f == nil {
			f = &fileDiff{line: 1}
		}
		if _, rest, ok := strings.Cut(name, "/"); ok && name != "/dev/null" {
			f.path = rest
		}
	}
	for line := range strings.Lines(diff) {
		text := strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(text, "diff --git "):
			flush()
		case !hunk && strings.HasPrefix(text, "--- "):
			begin(text[4:])
		case !hunk && strings.HasPrefix(text, "+++ "):
			begin(text[4:])
		case f != nil && strings.HasPrefix(text, "@@ "):
			if !hunk {
				f.line = firstLine(text)
			}
			hunk = true
		case hunk && strings.HasPrefix(text, "-"):
			from.WriteString(line[1:])
		case hunk && strings.HasPrefix(text, "+"):
			to.WriteString(line[1:])
		case hunk && strings.HasPrefix(text, " "):
			from.WriteString(line[1:])
			to.WriteString(line[1:])
		case hunk && !strings.HasPrefix(text, `\`):
			hunk = false
		}
	}
	flush()
	return out
}

// firstLine returns the number of the first line of a hunk in the changed file.
func firstLine(header string) int {
	_, after, _ := strings.Cut(header, "+")
	digits, _, _ := strings.Cut(after, ",")
	digits, _, _ = strings.Cut(digits, " ")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 {
		return 1
	}
	return n
}
