package mcp

import (
	"bufio"
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

// The same over HTTP, and for answers to unknown requests. Lines that are not fields of an event,
// a byte order mark, events of other names and data that is no message do not lose the server's requests.
func TestFloodOfEvents(t *testing.T) {
	var in strings.Builder
	in.WriteString("\ufeffid: first\ndata: " + `{"jsonrpc":"2.0","id":1,"result":{"a":1}}` + "\n\n")
	for i := range 3000 {
		fmt.Fprintf(&in, "event: message\r\nid: %d\r\n"+`data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"%d"}}`+"\r\n\r\n", i, i)
		fmt.Fprintf(&in, ": alive\n\n"+`data: {"jsonrpc":"2.0","id":%d,"result":{}}`+"\n\n", i+7000)
		fmt.Fprintf(&in, `data: [{"jsonrpc":"2.0","method":"notifications/tools/list_changed"},{"jsonrpc":"2.0","id":1,"result":{}}]`+"\n\n")
		in.WriteString("no field\n\n")
	}
	in.WriteString("event: response\ndata: " + `{"jsonrpc":"2.0","id":2,"result":{"b":2}}` + "\n\n")
	in.WriteString("event: endpoint\ndata: /messages\n\n")
	changed := 0
	w := &wire{calls: newCalls("x"), changed: func() { changed++ }, asked: map[string]request{"1": {id: []byte("1")}, "2": {id: []byte("2")}}}
	out, err := io.ReadAll(&events{in: io.NopCloser(nil), lines: bufio.NewReader(strings.NewReader(in.String())), wire: w})
	text := string(out)
	if err != nil || changed != 3000 || strings.Count(text, "data:") != 2 || strings.Contains(text, "no field") || !strings.Contains(text, "id: 2999\n\n") ||
		!strings.HasPrefix(text, "id: first\ndata: {") || !strings.HasSuffix(text, "\ndata: "+`{"id":2,"jsonrpc":"2.0","result":{"b":2}}`+"\n\n") {
		t.Errorf("%v, %d changes, %d bytes: %.300q … %q", err, changed, len(text), text, text[max(0, len(text)-300):])
	}
}

// Which notices are seen to here, and which the library must have.
func TestNotices(t *testing.T) {
	for message, want := range map[string]bool{
		`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`:            true,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}`:    true,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":"half"}}`: false,
		`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`:                                      true,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q1"}}`:                   false,
		`{"jsonrpc":"2.0","id":1,"method":"notifications/message"}`:                                          false,
		`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"\"notifications/message\""}]}}`: false,
		`{"jsonrpc":"2.0","method":"notifications/other"}`:                                                   false,
		`[{"jsonrpc":"2.0","method":"notifications/message"}]`:                                               true,
		`{"jsonrpc":"2.0","id":2,"result":{}}`:                                                               true,
	} {
		w := &wire{calls: newCalls("x"), changed: func() {}, asked: map[string]request{"1": {id: []byte("1")}}}
		if out, ok := w.receives([]byte(message)); !ok || (len(out) == 0) != want {
			t.Errorf("%s: %q, %v", message, out, ok)
		}
	}
}
