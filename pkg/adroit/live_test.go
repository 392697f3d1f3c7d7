package adroit

import (
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/event"
)

// merged describes what a reader of all pieces gets beside what is kept.
func merged(r *eventReader, kept ...event.Event) string {
	var words []string
	for ev, err := range mergeEvents(all(kept), func() {}, r) {
		words = append(words, describe(ev, err))
	}
	return strings.Join(words, " ")
}

func all(kept []event.Event) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for _, ev := range kept {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

func describe(ev event.Event, err error) string {
	switch {
	case err != nil:
		return err.Error()
	case ev.Kind == event.Delta:
		return ev.Text
	}
	return strings.TrimPrefix(string(ev.Kind), "step.") + ":" + ev.Path
}

func started(path string) event.Event {
	return event.Event{Job: "j", Kind: event.StepStarted, Path: path}
}

func finished(path string) event.Event {
	return event.Event{Job: "j", Kind: event.StepFinished, Path: path}
}

func piece(path, text string) event.Event {
	return event.Event{Job: "j", Kind: event.Delta, Path: path, Text: text}
}

// Pieces are sent before the store has what was before them, and belong behind it;
// those of a step that began before the reader came are not kept back.
func TestPiecesFollowTheStart(t *testing.T) {
	for _, c := range []struct {
		name, want string
		sent, kept []event.Event
	}{
		{"sent before all that is kept", "started:1 finished:1 started:2 a b finished:2",
			[]event.Event{started("1"), started("2"), piece("2", "a"), piece("2", "b")},
			[]event.Event{started("1"), finished("1"), started("2"), finished("2")}},
		{"two steps at once", "started:1 a c started:2 b finished:1 finished:2",
			[]event.Event{started("1"), started("2"), piece("1", "a"), piece("2", "b"), piece("1", "c")},
			[]event.Event{started("1"), started("2"), finished("1"), finished("2")}},
		{"a step that starts again", "started:1 a started:1 b finished:1",
			[]event.Event{started("1"), piece("1", "a"), started("1"), piece("1", "b")},
			[]event.Event{started("1"), started("1"), finished("1")}},
		{"a step that had begun", "a finished:1 started:2 b",
			[]event.Event{piece("1", "a"), started("2"), piece("2", "b")},
			[]event.Event{finished("1"), started("2")}},
		{"a step that ended before", "started:2 b",
			[]event.Event{started("1"), piece("1", "a"), started("2"), piece("2", "b")},
			[]event.Event{started("2")}},
	} {
		var b eventBroadcast
		r := b.Join("j")
		for _, ev := range c.sent {
			b.Send(ev)
		}
		if got := merged(r, c.kept...); got != c.want {
			t.Errorf("%s: %q, not %q", c.name, got, c.want)
		}
		if r.Leave(); len(b.readers) > 0 {
			t.Errorf("%s: the reader has left, and is one of %v", c.name, b.readers)
		}
	}
}

// Who is expected gets what was sent meanwhile, once; a run that begins again has
// nothing of the one before.
func TestExpect(t *testing.T) {
	var b eventBroadcast
	b.Send(piece("1", "before"))
	b.Expect("j")
	b.Send(piece("1", "of the first run"))
	b.Expect("j")
	b.Send(piece("1", "second"))
	for _, want := range []string{"second finished:1", "finished:1"} {
		if got := merged(b.Join("j"), finished("1")); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

// A reader that never comes costs little: the oldest of many is forgotten, and what
// waits for one is bounded.
func TestReadersAreBounded(t *testing.T) {
	var b eventBroadcast
	b.Expect("j")
	for range most + 1 {
		b.Send(piece("1", "x"))
	}
	for i := range absent - 1 {
		b.Expect(fmt.Sprint(i))
	}
	if len(b.readers) != absent || len(b.readers["j"][0].queue) != most {
		t.Errorf("%d readers, %d pieces", len(b.readers), len(b.readers["j"][0].queue))
	}
	b.Expect("one more")
	if len(b.readers) != absent || b.readers["j"] != nil {
		t.Errorf("%d readers, of j %v", len(b.readers), b.readers["j"])
	}
}
