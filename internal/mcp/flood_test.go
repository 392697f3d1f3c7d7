package mcp

import (
	"fmt"
	"io"
	"strings"
	"testing"
)

// Of a flood of notices that nobody heeds the library gets none: it takes a large buffer
// and a goroutine for each, 0.2 ms together. What it must have comes in its order.
func TestFlood(t *testing.T) {
	var in strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&in, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"%d"}}`+"\n", i)
		fmt.Fprintf(&in, `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"other","progress":%d}}`+"\n", i)
		in.WriteString(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n")
		if i%1000 == 500 {
			fmt.Fprintf(&in, `{"jsonrpc":"2.0","id":"q%d","method":"ping"}`+"\n", i)
		}
	}
	changed := 0
	w := &wire{calls: newCalls("x"), changed: func() { changed++ }, asked: map[string]request{}}
	m := newMessageReader(strings.NewReader(in.String()), w, func(first string) { t.Errorf("%s is taken for noise", first) })
	out, err := io.ReadAll(m)
	if err != nil || changed != 3000 || strings.Count(string(out), "\n") != 3 || !strings.Contains(string(out), `"q500"`) {
		t.Errorf("%v, %d changes, %q", err, changed, out)
	}
}

// Which notices are seen to here, and which the library must have.
func TestNotices(t *testing.T) {
	w := &wire{calls: newCalls("x"), changed: func() {}, asked: map[string]request{}}
	for message, want := range map[string]bool{
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`:            true,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}`:    true,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":"half"}}`: false,
		`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`:                                      true,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q1"}}`:                   false,
		`{"jsonrpc":"2.0","id":1,"method":"notifications/message"}`:                                          false,
		`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"\"notifications/message\""}]}}`: false,
		`{"jsonrpc":"2.0","method":"notifications/other"}`:                                                   false,
		`[{"jsonrpc":"2.0","method":"notifications/message"}]`:                                               false,
	} {
		if w.notice([]byte(message)) != want {
			t.Errorf("%s: %v", message, !want)
		}
	}
}
