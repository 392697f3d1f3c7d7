package chat

import (
	"context"

	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/jobs"
)

// How far a compaction is that the person has asked for between turns.
type compaction int

const (
	noCompaction   compaction = iota
	compacting                // it runs
	compactionDone            // it made the conversation smaller
)

// compact is /compact: the conversation gets smaller at once between turns, and
// before the next request of the model while one is in progress.
func (s *Session) compact(string) {
	if !s.begun() {
		return
	}
	id, now := s.job, s.state == Idle && s.status.Final()
	if now {
		s.work()
		s.compaction = compacting
	}
	s.do(func(ctx context.Context) func() {
		_, err := s.c.Send(ctx, id, executor.Message{Compact: true})
		return func() {
			switch {
			case err != nil:
				s.compaction = noCompaction
				s.settle()
				s.fail(err)
			case now:
				s.run()
			case s.status == jobs.Interrupted && s.state == Idle:
				s.say(kit.Dim, "it is compacted when the conversation goes on")
			default:
				s.say(kit.Dim, "it is compacted before the model's next request")
			}
		}
	})
}

// compacted ends a compaction between turns. It reports whether there was one.
func (s *Session) compacted() bool {
	was := s.compaction
	if s.compaction = noCompaction; was == compacting {
		s.say(kit.Dim, "there is nothing to compact yet")
	}
	return was != noCompaction
}
