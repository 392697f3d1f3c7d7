package acp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/adroit-run/adroit/pkg/adroit"
)

// The library (v0.13) knows neither session/delete nor its capability: the method is read
// under the name of an extension, and the capability is added to what it writes first.
const (
	deleteMethod    = "session/delete"
	extensionMethod = "_" + deleteMethod
)

// An editorInput is what an editor sends, with the method renamed. A line that does not fit
// into the buffer is passed on as it is: it is no request to delete.
type editorInput struct {
	r     *bufio.Reader
	rest  []byte
	inner bool // what comes next is the rest of a long line
}

func newEditorInput(r io.Reader) *editorInput { return &editorInput{r: bufio.NewReader(r)} }

// Read implements [io.Reader].
func (in *editorInput) Read(b []byte) (int, error) {
	if len(in.rest) == 0 {
		line, err := in.r.ReadSlice('\n')
		if len(line) == 0 {
			return 0, err
		}
		long := errors.Is(err, bufio.ErrBufferFull)
		if in.rest = line; !long && !in.inner {
			in.rest = renamed(line)
		}
		in.inner = long
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
