package sqlite

import (
	"sync"

	"github.com/adroit-run/adroit/pkg/flow"
)

// readAhead reads the steps of a run that is replayed before it asks for them, so
// that a recalled step takes neither the write lock nor a query of its own. It
// holds at most maxAhead steps for each branch that is under way, without
// outputs that lie in blobs.
type readAhead struct {
	mu      sync.Mutex
	counted bool
	stopped bool // with steps of former runs left
	left    int  // steps that the run has not asked for yet; from zero on nothing is read
	read    map[string]*readStep
}

// maxAhead is how many steps are read at once. Outputs in rows have at most
// inline bytes each.
const maxAhead = 64

// A readStep is a step as it lies in its table: a big output is a digest.
type readStep struct {
	rec flow.Record
	big string
}

// stop ends reading ahead: what a checkpoint forgets must not be recalled.
func (a *readAhead) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.counted || a.left > 0 {
		a.stopped = true
	}
	a.counted, a.left, a.read = true, 0, nil
}

const (
	countQuery = "select count(*) from steps where job = ?"
	aheadQuery = `select path, kind, name, sum, deadline, done, output, big, failure from steps
		where job = ?1 and path in (select value from json_each(?2))
		and exists (select 1 from jobs where id = ?1 and token = ?3 and owner <> '')`
)
