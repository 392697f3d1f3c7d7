package kit

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
)

// An Asker puts a question of a model at work, which is JSON of
// executor.Question, to a person; no says why not, "" is yes.
type Asker func(ctx context.Context, question json.RawMessage) (no string, err error)

// An Attendant knows who can be asked while a job runs: unlike a job, a process
// at work cannot be parked until somebody comes. The zero value knows nobody. It
// is safe for concurrent use and asks one question at a time.
type Attendant struct {
	mu  sync.Mutex
	ask Asker
}

// Attend lets ask be asked until the function it returns is called.
func (a *Attendant) Attend(ask Asker) (leave func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ask = ask
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.ask = nil
	}
}

// Person asks whoever attends, nil if nobody does now. It is for
// adroit.Options.Person.
func (a *Attendant) Person() func(context.Context, json.RawMessage) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ask == nil {
		return nil
	}
	return func(ctx context.Context, question json.RawMessage) (string, error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.ask == nil {
			return "", errors.New("nobody is at the terminal any more")
		}
		return a.ask(ctx, question)
	}
}
