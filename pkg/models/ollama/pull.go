package ollama

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ollama/ollama/api"

	"github.com/adroit-run/adroit/internal/calling/transport"
	"github.com/adroit-run/adroit/pkg/llm"
)

// A Progress is how far a pull has come.
type Progress struct {
	Status string `json:"status"` // the server's word for what it does
	Digest string `json:"digest,omitempty"`
	Done   int64  `json:"completed,omitempty"` // bytes of the part with this digest
	Total  int64  `json:"total,omitempty"`
}

// maxTries is how often a pull that makes no progress is tried again.
const maxTries = 3

// Pull has the server fetch a model from its registry, or look for a newer
// version of it, and reports to progress, which may be nil. A pull
// that breaks off is begun again where it stopped, by the server's doing, as
// long as it makes progress; what an earlier Pull fetched is not fetched
// again. insecure permits a registry without TLS.
//
// There is no limit on the whole, which ctx may set, but one on silence: that
// of the Config.
func (c *Client) Pull(ctx context.Context, model string, insecure bool, progress func(Progress)) error {
	end := *c.end
	end.Total = -1
	req := &api.PullRequest{Model: model, Insecure: insecure}
	if progress == nil {
		progress = func(Progress) {}
	}
	had := map[string]int64{} // by digest
	for failed := 0; ; {
		before := len(had)
		more := false
		err := pull(ctx, &end, req, func(p Progress) {
			if p.Done > had[p.Digest] {
				had[p.Digest], more = p.Done, true
			}
			progress(p)
		})
		var e *llm.Error
		if err == nil || !errors.As(err, &e) || !e.Retryable() {
			return err
		}
		if failed++; more || len(had) > before {
			failed = 0
		}
		if failed >= maxTries {
			return err
		}
		progress(Progress{Status: "interrupted, going on: " + e.Message})
		wait := time.NewTimer(time.Duration(failed) * time.Second)
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return fmt.Errorf("%s: %w", c.end.Name, context.Cause(ctx))
		}
	}
}

func pull(ctx context.Context, end *transport.Endpoint, req *api.PullRequest, progress func(Progress)) error {
	t := &roundTripper{end: end, stream: true}
	done := false
	err := t.client().Pull(ctx, req, func(p api.ProgressResponse) error {
		done = p.Status == "success"
		progress(Progress{Status: p.Status, Digest: p.Digest, Done: p.Completed, Total: p.Total})
		return nil
	})
	var syntax *json.SyntaxError
	var typed *json.UnmarshalTypeError
	switch {
	case t.broken != nil: // which the library takes for the end
		return t.broken
	case errors.As(err, &syntax), errors.As(err, &typed):
		return end.Error(llm.Garbled, "the server's progress is not what the protocol says: "+err.Error())
	case err != nil:
		if sent := sendError(err); sent != nil {
			return named(sent)
		}
		return named(end.Reported([]byte(err.Error())))
	case !done:
		return end.Error(llm.Cut, "the progress of the pull ended before the model was there")
	}
	return nil
}

// named distinguishes a name unknown to every registry from a registry that
// cannot be reached: the server reports both in the same way.
func named(err error) error {
	var e *llm.Error
	var said transport.ErrorText
	if !errors.As(err, &e) || !errors.As(err, &said) {
		return err
	}
	words := []byte(said)
	switch {
	case bytes.Contains(words, []byte("file does not exist")), bytes.Contains(words, []byte("manifest unknown")):
		e.Kind = llm.NoModel
		e.Hint = "check the name, or look for it on https://ollama.com/library"
	case bytes.Contains(words, []byte("no such host")), bytes.Contains(words, []byte("connection refused")),
		bytes.Contains(words, []byte("i/o timeout")), bytes.Contains(words, []byte("network is unreachable")):
		e.Kind = llm.Unreachable
		e.Hint = "the Ollama server cannot reach the registry; check its network and proxy settings, which are not adroit's"
	case bytes.Contains(words, []byte("server gave HTTP response to HTTPS client")), bytes.Contains(words, []byte("insecure protocol")):
		e.Kind = llm.BadRequest
		e.Hint = "the registry has no TLS; --insecure permits that"
	case bytes.Contains(words, []byte("invalid model name")):
		e.Kind = llm.BadRequest
	}
	return e
}
