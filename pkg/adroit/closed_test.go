package adroit

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/agents"
)

// After Close every method says that the runtime is closed, and who reads events is let go.
func TestClosed(t *testing.T) {
	rt := runtime(t, "turns: [{text: Done.}]", Options{})
	s, err := rt.Submit(t.Context(), Request{Input: agents.Input{Spec: &agents.DynamicAgent{Name: "a", Description: "d", Prompt: "p"}, Prompt: "x"}})
	if err != nil {
		t.Fatal(err)
	}
	reader := make(chan error, 1)
	go func() {
		job := &Job{client: rt, id: s.Job.ID}
		for _, err := range job.Events(context.Background(), EventOptions{Follow: true}) {
			if err != nil {
				reader <- err
				return
			}
		}
		reader <- nil
	}()
	time.Sleep(50 * time.Millisecond)
	if err := rt.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-reader:
		if !errors.Is(err, ErrClosed) {
			t.Errorf("who reads events gets %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("who reads events hangs")
	}
	client := reflect.TypeFor[Client]()
	for i := range client.NumMethod() {
		m := client.Method(i)
		if m.Name == "Close" {
			continue
		}
		var args []reflect.Value
		for j := range m.Type.NumIn() {
			args = append(args, reflect.Zero(m.Type.In(j)))
			if m.Type.In(j) == reflect.TypeFor[context.Context]() {
				args[j] = reflect.ValueOf(t.Context())
			}
		}
		out := reflect.ValueOf(rt).MethodByName(m.Name).Call(args)
		last := out[len(out)-1]
		if last.Kind() == reflect.Func { // a sequence of values and errors
			for _, v := range last.Seq2() {
				last = v
			}
		}
		if err, _ := last.Interface().(error); !errors.Is(err, ErrClosed) {
			t.Errorf("%s returns %v", m.Name, last)
		}
	}
}
