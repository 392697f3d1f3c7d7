package mcp

import (
	"os"
	"path/filepath"
	"time"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/tools"
)

// maxWait is how long a call waits at its server for the user; after that, and
// when the process ends, it is cancelled, and an answer makes it anew.
const maxWait = time.Hour

// park keeps a call that waits for the user.
func (p *Pool) park(o *openCall) {
	p.mu.Lock()
	p.waiting[o.id] = o
	p.mu.Unlock()
	time.AfterFunc(maxWait, func() {
		if p.unpark(o.id) != nil {
			p.cancelled(o)
		}
	})
}

func (p *Pool) unpark(id string) *openCall {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := p.waiting[id]
	delete(p.waiting, id)
	return o
}

// waitsFor is the call that waits for the last answer, handed to it. If there is
// none, gone reports whether nobody knows what has become of it: the process was
// killed that had it.
func (p *Pool) waitsFor(said turn.Said, env *tools.Env) (o *openCall, gone bool) {
	if len(said.Answers) == 0 {
		return nil, false
	}
	last := said.Answers[len(said.Answers)-1]
	if o = p.unpark(last.Call); o != nil {
		o.resume(env, last)
		return o, false
	}
	return nil, os.Remove(p.cancelledFile(last.Call)) != nil
}

// cancelledFile is there for a call that was cancelled while the user was asked.
func (p *Pool) cancelledFile(id string) string {
	return filepath.Join(p.o.Dir, "cancelled-"+filepath.Base(id))
}

// cancelled cancels a call that waits for the user and remembers that, so that it
// may be made anew.
func (p *Pool) cancelled(o *openCall) {
	o.end()
	if err := rootfs.WriteFile(p.cancelledFile(o.id), nil); err != nil {
		p.warn("remembering a call that was cancelled: %v", err)
	}
}
