package transport_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/adroit-run/adroit/internal/dev/testenv"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/models/anthropic"
	"github.com/adroit-run/adroit/pkg/models/ollama"
	"github.com/adroit-run/adroit/pkg/models/openai"
)

// ways are the peculiarities of servers that an answer is given. Each is drawn independently, so
// that they are combined.
type ways struct {
	OtherIndexes bool // the arguments go on under new indexes, without id
	EmptyFirst   bool // {} comes before the arguments
	CallsAgain   bool // the last chunk has the calls again
	CallsLate    bool // they come again behind it, with other ids and indexes
	Message      bool // each chunk has all so far as its message
	MessageLast  bool // the last chunk has all as its message
	TextGrows    bool // each delta has all so far
	TextAgain    bool // the last delta has all of the text
	ArgsGrow     bool
	Object       bool // arguments are an object
	Raw, Escaped bool // characters are cut, in bytes or in surrogates
	NoFinish     bool
	NameEach     bool
	IDEach       bool // another id in each piece
	NoIDs        bool
	NumberIDs    bool
	Index        int // 0 number, 1 text, 2 fraction, 3 none
	Flat         bool
	Single       bool // tool_calls is an object
	OldForm      bool // function_call
	Parts        bool // content is a list
	Pair         bool // the model wants the same call twice
	ArgsTwice    bool // a call's last piece has all of its arguments again
	EmptyAgain   bool // the calls come again in the end, with no arguments
	Broken       bool // a chunk of an answer without calls is no JSON, and a number is NaN
	Whole        bool // it is in one piece
	Media        string
	Encoding     string // that nobody asked for
	Lines        bool   // with an object each in place of events, and Before before each
	Before       string
	Form         int // how events are written
}

type drawn struct {
	text, thinking string
	calls          []llm.Call
}

func draw(r *rand.Rand) (d drawn, w ways) {
	b := func(n int) bool { return r.IntN(n) == 0 }
	words := []string{"the", "naïve", "file", "日本語", "says", "👩‍💻", "ok", "\"quoted\"", "a\\b", "line\n", "\u00e9\u0301", "🚀🚀", "x"}
	phrase := func(first string, n int) string {
		s := first
		for range n {
			s += " " + words[r.IntN(len(words))]
		}
		return strings.TrimSpace(s) + "."
	}
	if !b(4) {
		d.text = phrase("Answer", 3+r.IntN(20))
	}
	if b(2) {
		d.thinking = phrase("Hm", 3+r.IntN(8))
	}
	for i := range r.IntN(4) {
		args, _ := json.Marshal(map[string]any{"n": i, "text": phrase("Say", r.IntN(6)), "list": []any{r.IntN(9), true, nil, "}{"}})
		if b(5) {
			args = []byte("{}")
		}
		d.calls = append(d.calls, llm.Call{ID: fmt.Sprintf("call%d%d", r.IntN(100), i), Name: []string{"f", "read_file"}[i%2], Args: args})
	}
	w = ways{OtherIndexes: b(3), EmptyFirst: b(3), CallsAgain: b(3), CallsLate: b(5), Message: b(5), MessageLast: b(5), TextGrows: b(5), TextAgain: b(4),
		ArgsGrow: b(5), Object: b(6), Raw: b(3), Escaped: b(3), NoFinish: b(4), NameEach: b(3), IDEach: b(5), NoIDs: b(4), NumberIDs: b(4), Index: r.IntN(4),
		Flat: b(6), Single: b(6), OldForm: b(5), Parts: b(6), Pair: b(5), ArgsTwice: b(5), EmptyAgain: b(5), Broken: b(4), Whole: b(6), Media: []string{"text/event-stream", "application/json", "text/plain"}[r.IntN(3)],
		Encoding: []string{"", "", "", "identity", "deflate", "raw deflate", "gzip", "not gzip", "gzip, gzip", "gzip twice", "unnamed gzip"}[r.IntN(11)]}
	if w.Lines = !w.NoFinish && !w.Broken && b(6); w.Lines {
		w.Before = []string{"", "\x1e"}[r.IntN(2)]
		w.Media = []string{"application/x-ndjson", "application/jsonl", "application/json-seq", "text/event-stream", "text/plain", "binary/octet-stream"}[r.IntN(6)]
	}
	if d.text == "" && len(d.calls) == 0 {
		d.text = phrase("Answer", 4)
	}
	w.Form = r.IntN(20)
	// Ambiguities that no reader can resolve are not drawn: which of two equal calls without IDs
	// is meant, and whether a name with another ID continues a call or begins one.
	w.IDEach = w.IDEach && !w.NoIDs && !w.NameEach && w.Index != 3
	w.OtherIndexes = w.OtherIndexes && w.Index != 3 && !w.NameEach
	w.Broken = w.Broken && len(d.calls) == 0
	w.OldForm = w.OldForm && len(d.calls) == 1
	if w.Pair = w.Pair && len(d.calls) == 1 && !w.NoIDs && !w.IDEach && !w.OldForm; w.Pair {
		second := d.calls[0]
		second.ID = "another1"
		d.calls = append(d.calls, second)
	}
	if w.NoIDs && slices.ContainsFunc(d.calls, func(c llm.Call) bool { return string(c.Args) == "{}" }) {
		for i := range d.calls {
			d.calls[i].Name = fmt.Sprint("f", i)
		}
	}
	return d, w
}

// cut cuts s into pieces, as literals of JSON.
func (w *ways) cut(r *rand.Rand, s string, grows bool) (out []string) {
	quote := func(s string) string {
		b, _ := json.Marshal(s)
		return string(b)
	}
	var units []string // that are not cut
	switch {
	case w.Escaped:
		for _, u := range utf16.Encode([]rune(s)) {
			if u < 0x80 {
				units = append(units, strings.Trim(quote(string(rune(u))), `"`))
				if u == '"' {
					units[len(units)-1] = `\"`
				}
			} else {
				units = append(units, fmt.Sprintf(`\u%04x`, u))
			}
		}
	case w.Raw:
		for i := range len(s) {
			switch c := s[i]; {
			case c == '"' || c == '\\':
				units = append(units, `\`+string(rune(c)))
			case c < 0x20:
				units = append(units, fmt.Sprintf(`\u%04x`, c))
			default:
				units = append(units, s[i:i+1])
			}
		}
	default:
		for _, c := range s {
			q := quote(string(c))
			units = append(units, q[1:len(q)-1])
		}
	}
	for at := 0; at < len(units); {
		n, from := min(len(units), at+1+r.IntN(9)), at
		if grows { // two pieces can be no more than a repetition in the text
			n, from = min(len(units), at+1+r.IntN(3)), 0
		}
		out = append(out, `"`+strings.Join(units[from:n], "")+`"`)
		at = n
	}
	return out
}

// index renders the number of a call in one of several types.
func (w *ways) index(n int) string {
	switch w.Index {
	case 1:
		return `"index":"` + strconv.Itoa(n) + `",`
	case 2:
		return `"index":` + strconv.Itoa(n) + `.0,`
	case 3:
		return ""
	}
	return `"index":` + strconv.Itoa(n) + `,`
}

// ids gives ids in any type.
func (w *ways) ids() func(own string) string {
	numbers := map[string]int{}
	return func(own string) string {
		switch {
		case w.NoIDs:
			return ""
		case w.NumberIDs:
			if numbers[own] == 0 {
				numbers[own] = 1000 + len(numbers)
			}
			return fmt.Sprintf(`"id":%d,`, numbers[own])
		}
		return `"id":"` + own + `",`
	}
}

// openai renders the stream of an answer as an OpenAI-compatible server sends it.
func (w *ways) openai(r *rand.Rand, d drawn) string {
	var out strings.Builder
	literal := func(s string) string { b, _ := json.Marshal(s); return string(b) }
	chunk := func(delta, message, finish string) {
		c := `{"index":0,"delta":{` + delta + `}`
		if message != "" {
			c += `,"message":{"role":"assistant",` + message + `}`
		}
		fmt.Fprintf(&out, "data: {\"choices\":[%s,\"finish_reason\":%s}]}\n\n", c, finish)
	}
	said := ""
	soFar := func() string {
		if !w.Message {
			return ""
		}
		return `"content":` + literal(said)
	}
	for _, p := range w.cut(r, d.thinking, w.TextGrows) {
		chunk(`"reasoning_content":`+p, "", "null")
	}
	plain := *w
	if w.Message {
		plain.Raw, plain.Escaped = false, false // what is said so far is whole characters
	}
	for _, p := range plain.cut(r, d.text, w.TextGrows) {
		var s string
		if json.Unmarshal([]byte(p), &s) == nil {
			if w.TextGrows {
				said = s
			} else {
				said += s
			}
		}
		if w.Parts {
			p = `[{"type":"text","text":` + p + `}]`
		}
		chunk(`"content":`+p, soFar(), "null")
	}
	if w.Broken {
		out.WriteString("data: {\"choices\":[{\"delta\":{]}\n\ndata: {\"choices\":[],\"rate\":NaN}\n\n")
	}
	next := 0
	ids, numbered := 0, w.ids()
	id := func(own string) string {
		if w.IDEach {
			ids++
			own = fmt.Sprint("new", ids)
		}
		return numbered(own)
	}
	call := func(head, name, args string) string {
		f := `"arguments":` + args
		if name != "" {
			f = `"name":"` + name + `",` + f
		}
		if w.OldForm {
			return `"function_call":{` + f + `}`
		}
		if !w.Flat {
			f = `"function":{` + f + `}`
		}
		if c := `{` + head + f + `}`; w.Single {
			return `"tool_calls":` + c
		} else {
			return `"tool_calls":[` + c + `]`
		}
	}
	var heads []string
	for _, c := range d.calls {
		heads = append(heads, w.index(next)+id(c.ID))
		first := heads[len(heads)-1]
		var pieces []string
		switch {
		case w.Object:
			pieces = []string{string(c.Args)}
		default:
			pieces = w.cut(r, string(c.Args), w.ArgsGrow)
		}
		if w.EmptyFirst {
			pieces = slices.Insert(pieces, 0, `"{}"`)
		}
		for i, p := range pieces {
			head, name := w.index(next), ""
			if i == 0 {
				head = first
			} else if w.IDEach {
				head += id("")
			}
			if i == 0 || w.NameEach {
				name = c.Name
			}
			chunk(call(head, name, p), soFar(), "null")
			if w.OtherIndexes {
				next++
			}
		}
		if w.ArgsTwice && !w.Object && !w.OtherIndexes && !w.IDEach && w.Index != 3 {
			chunk(call(w.index(next), "", literal(string(c.Args))), soFar(), "null")
		}
		next++
	}
	last, message := "", ""
	if w.TextAgain && d.text != "" {
		last = `"content":` + literal(d.text)
	}
	if w.CallsAgain && !w.Single && !w.OldForm && len(d.calls) > 0 {
		var again []string
		for i, c := range d.calls {
			f := call(heads[i], c.Name, literal(string(c.Args)))
			again = append(again, strings.TrimSuffix(strings.TrimPrefix(f, `"tool_calls":[`), `]`))
		}
		if last != "" {
			last += ","
		}
		last += `"tool_calls":[` + strings.Join(again, ",") + `]`
	}
	if w.MessageLast {
		message = `"content":` + literal(d.text)
		if len(d.calls) > 0 && !w.OldForm {
			var list []string
			for i, c := range d.calls {
				list = append(list, fmt.Sprintf(`{%s"function":{"name":%q,"arguments":%s}}`, heads[i], c.Name, literal(string(c.Args))))
			}
			message += `,"tool_calls":[` + strings.Join(list, ",") + `]`
		}
	}
	if w.EmptyAgain && !w.NoIDs && !w.IDEach && !w.OldForm {
		for i, c := range d.calls {
			chunk(call(heads[i], c.Name, `"{}"`), "", "null")
		}
	}
	if w.NoFinish {
		if message != "" {
			chunk("", message, "null")
		}
	} else {
		finish := `"stop"`
		if len(d.calls) > 0 {
			finish = `"tool_calls"`
		}
		chunk(last, message, finish)
		if w.CallsLate && !w.Pair && !w.OldForm {
			for i, c := range d.calls {
				chunk(call(fmt.Sprintf(`"index":%d,"id":"late%d",`, 900+i, i), c.Name, literal(string(c.Args))), "", "null")
			}
		}
	}
	out.WriteString("data: [DONE]\n\n")
	return out.String()
}

type answering struct{ media, encoding, body string }

func (a answering) RoundTrip(*http.Request) (*http.Response, error) {
	var body bytes.Buffer
	var into io.WriteCloser
	switch a.encoding {
	case "deflate":
		into = zlib.NewWriter(&body)
	case "raw deflate":
		into, _ = flate.NewWriter(&body, 1) // there is such a level
	case "gzip", "unnamed gzip", "gzip, gzip", "gzip twice":
		into = gzip.NewWriter(&body)
	}
	if into == nil {
		body.WriteString(a.body)
	} else if _, err := io.WriteString(into, a.body); err != nil {
		return nil, err
	} else if err := into.Close(); err != nil {
		return nil, err
	}
	of := a.encoding[strings.LastIndexByte(a.encoding, ' ')+1:]
	switch a.encoding {
	case "gzip, gzip", "gzip twice":
		once := body.String()
		body.Reset()
		into = gzip.NewWriter(&body)
		_, err := io.WriteString(into, once)
		if err := errors.Join(err, into.Close()); err != nil {
			return nil, err
		}
		of = strings.TrimSuffix(a.encoding, " twice")
	case "unnamed gzip":
		of = ""
	}
	status := []int{200, 201, 246}[len(a.body)%3] // 246 is Portkey's where a check failed
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {a.media}, "Content-Encoding": {of}}, Body: io.NopCloser(&body)}, nil
}

// anthropic renders it as events of Anthropic's protocol.
func (w *ways) anthropic(r *rand.Rand, d drawn) string {
	var out strings.Builder
	id, named := w.ids(), r.IntN(2) == 0
	event := func(kind, rest string) {
		if named { // only the event says what it is
			fmt.Fprintf(&out, "event: %s\ndata: {%s}\n\n", kind, strings.TrimPrefix(rest, ","))
		} else {
			fmt.Fprintf(&out, "data: {\"type\":%q%s}\n\n", kind, rest)
		}
	}
	literal := func(s string) string { b, _ := json.Marshal(s); return string(b) }
	at, zero := 0, r.IntN(5) == 0 && !w.NoIDs && !w.Pair // all blocks have the same index
	index := func() string {
		n := at
		if zero {
			n = 0
		}
		return "," + strings.TrimSuffix(w.index(n), ",")
	}
	block := func(b string) {
		event("content_block_start", strings.TrimSuffix(index(), ",")+`,"content_block":`+b)
	}
	delta := func(kind, field, value string) {
		index := index()
		if w.OtherIndexes && !zero && kind == "input_json_delta" { // none, or one that no block has
			index = []string{"", `,"index":77,`}[r.IntN(2)]
		}
		event("content_block_delta", strings.TrimSuffix(index, ",")+`,"delta":{"type":"`+kind+`","`+field+`":`+value+`}`)
	}
	event("message_start", `,"message":{"model":"m","content":[],"usage":{"input_tokens":"7","output_tokens":null}}`)
	var blocks []string
	if d.thinking != "" {
		blocks = append(blocks, `{"type":"thinking","thinking":`+literal(d.thinking)+`}`)
		block(`{"type":"thinking","thinking":""}`)
		for _, p := range w.cut(r, d.thinking, w.TextGrows) {
			delta("thinking_delta", "thinking", p)
		}
		at++
	}
	if d.text != "" {
		blocks = append(blocks, `{"type":"text","text":`+literal(d.text)+`}`)
		if !w.Flat { // some begin with the text itself
			block(`{"type":"text","text":""}`)
		}
		for _, p := range w.cut(r, d.text, w.TextGrows) {
			if w.Parts {
				p = `[{"type":"text","text":` + p + `}]`
			}
			delta("text_delta", "text", p)
		}
		at++
	}
	if w.Broken {
		out.WriteString("event: ping\ndata: {]}\n\ndata: {\"type\":\"ping\",\"rate\":NaN}\n\n")
	}
	calls := at
	start := func(id string, c llm.Call, input string) string {
		return `{"type":"tool_use",` + id + `"name":"` + c.Name + `","input":` + input + `}`
	}
	for _, c := range d.calls {
		blocks = append(blocks, start(id(c.ID), c, string(c.Args)))
		if w.Object && r.IntN(2) == 0 {
			block(start(id(c.ID), c, string(c.Args)))
			at++
			continue
		}
		input := "{}"
		if w.MessageLast && !w.OtherIndexes && w.Index != 3 && !w.ArgsGrow { // all of it, in another order, and in pieces
			var in struct {
				Text *string `json:"text,omitempty"`
				N    any     `json:"n,omitempty"`
				List any     `json:"list,omitempty"`
			}
			_ = json.Unmarshal(c.Args, &in)
			b, _ := json.Marshal(in)
			input = string(b)
		}
		block(start(id(c.ID), c, input))
		if w.NameEach && w.Index != 3 && !zero {
			block(start(id(c.ID), c, "{}")) // it begins again
		}
		pieces := w.cut(r, string(c.Args), w.ArgsGrow)
		if w.Object {
			pieces = []string{string(c.Args)}
		}
		if w.EmptyFirst {
			pieces = slices.Insert(pieces, 0, `"{}"`)
		}
		for _, p := range pieces {
			delta("input_json_delta", "partial_json", p)
		}
		if w.ArgsTwice && !w.Object && w.Index != 3 {
			delta("input_json_delta", "partial_json", literal(string(c.Args)))
		}
		event("content_block_stop", strings.TrimSuffix(index(), ","))
		at++
	}
	stop := "end_turn"
	if len(d.calls) > 0 {
		stop = "tool_use"
	}
	if w.Whole {
		return fmt.Sprintf(`{"type":"message","model":"m","content":[%s],"stop_reason":%q,"usage":{}}`, strings.Join(blocks, ","), stop)
	}
	if !w.NoFinish {
		event("message_delta", `,"delta":{"stop_reason":"`+stop+`"},"usage":{"output_tokens":3.0}`)
		if w.TextAgain && d.text != "" {
			delta("text_delta", "text", literal(d.text))
		}
		if at = calls; w.CallsAgain && !zero {
			for _, c := range d.calls {
				block(start(id(c.ID), c, string(c.Args)))
				at++
			}
		}
	}
	if named && r.IntN(2) == 0 {
		out.WriteString("data: [DONE]\n\n")
	} else {
		event("message_stop", "")
	}
	return out.String()
}

// ollama renders it as lines of Ollama's protocol.
func (w *ways) ollama(r *rand.Rand, d drawn) string {
	var out strings.Builder
	id := w.ids()
	dates := []string{`"2026-11-27T09:00:00.5Z"`, "1764234000", `"27/11/2026 09:00"`, "null", "{}"}
	line := func(message string) {
		fmt.Fprintf(&out, `{"model":"m","created_at":%s,"message":{"role":"assistant"%s},"done":false}`+"\n", dates[r.IntN(len(dates))], message)
	}
	literal := func(s string) string { b, _ := json.Marshal(s); return string(b) }
	for _, p := range w.cut(r, d.thinking, w.TextGrows) {
		line(`,"content":"","thinking":` + p)
	}
	for _, p := range w.cut(r, d.text, w.TextGrows) {
		if w.Parts {
			p = `[{"type":"text","text":` + p + `}]`
		}
		line(`,"content":` + p)
	}
	if w.Broken {
		out.WriteString("{]}\n" + `{"model":"m","message":{"content":""},"load_duration":NaN,"done":false}` + "\n")
	}
	var all []string
	for i, c := range d.calls {
		args := string(c.Args)
		if !w.Object {
			args = literal(args)
		}
		f := w.index(i) + `"name":"` + c.Name + `","arguments":` + args
		if !w.Flat {
			f = `"function":{` + f + `}`
		}
		f = `{` + id(c.ID) + f + `}`
		if all = append(all, f); !w.Single {
			f = "[" + f + "]"
		}
		line(`,"content":"","tool_calls":` + f)
	}
	last := ""
	if w.TextAgain && d.text != "" {
		last = `,"content":` + literal(d.text)
	}
	if w.CallsAgain && len(all) > 0 {
		last += `,"tool_calls":[` + strings.Join(all, ",") + `]`
	}
	count := []string{"7", "7.0", `"7"`, "null", "-1"}[r.IntN(5)]
	fmt.Fprintf(&out, `{"model":"m","message":{"role":"assistant"%s},"done":%s,"done_reason":%s,"prompt_eval_count":%s,"eval_count":%s}`+"\n",
		last, []string{"true", `"true"`}[r.IntN(2)], []string{`"stop"`, "null"}[r.IntN(2)], count, count)
	return out.String()
}

// TestAnswersInEveryForm draws answers and sends each in the forms that servers of each protocol
// use: every form gives the same answer, with each call once.
func TestAnswersInEveryForm(t *testing.T) {
	for seed := range uint64(testenv.Sample(500, 60_000)) {
		d, w := draw(rand.New(rand.NewPCG(seed, 27)))
		client := func(media, stream string) *http.Client {
			return &http.Client{Transport: answering{media, w.Encoding, stream}}
		}
		again := func() *rand.Rand { return rand.New(rand.NewPCG(seed, 28)) }
		for _, protocol := range []struct {
			name, stream string
			open         func(stream string) (llm.Model, error)
		}{
			{"openai", w.written(w.framed(w.openai(again(), d)), d, 12), func(stream string) (llm.Model, error) {
				return openai.New(openai.Config{BaseURL: "http://127.0.0.1:9/v1", HTTP: client(w.Media, stream)})
			}},
			{"anthropic", w.written(w.anthropic(again(), d), d, 6), func(stream string) (llm.Model, error) {
				return anthropic.New(anthropic.Config{BaseURL: "http://127.0.0.1:9", HTTP: client(w.Media, stream)})
			}},
			{"ollama", w.ollama(again(), d), func(stream string) (llm.Model, error) {
				return ollama.New(ollama.Config{BaseURL: "http://127.0.0.1:9", HTTP: client("application/x-ndjson", stream)})
			}},
		} {
			m, err := protocol.open(protocol.stream)
			if err != nil {
				t.Fatal(err)
			}
			if wrong := d.unlike(t, m); wrong != "" {
				t.Fatalf("%s, seed %d, %+v:\n%s\n%s", protocol.name, seed, w, wrong, protocol.stream)
			}
		}
	}
}

// framed makes a stream of events one of lines with an object each, if that is drawn.
func (w *ways) framed(stream string) string {
	if !w.Lines {
		return stream
	}
	var out strings.Builder
	for l := range strings.Lines(stream) {
		if l = strings.TrimPrefix(l, "data: "); strings.HasPrefix(l, "{") {
			out.WriteString(w.Before + strings.TrimSpace(l) + "\n")
		}
	}
	return out.String()
}

// written writes the events of a stream in one of the given number of forms. An object that
// is broken ends at a blank line, and a list, or objects alone, have no other end than a reason.
func (w *ways) written(stream string, d drawn, forms int) string {
	if w.Lines || w.Form >= forms || w.Whole && forms == 6 || (w.Broken && len(d.calls) == 0 || w.NoFinish) && w.Form > 3 {
		return stream
	}
	var objects []string
	for l := range strings.Lines(stream) {
		if l = strings.TrimSpace(strings.TrimPrefix(l, "data: ")); strings.HasPrefix(l, "{") {
			objects = append(objects, l)
		}
	}
	switch w.Form {
	case 0:
		return strings.ReplaceAll(stream, "\n", "\r\n")
	case 1:
		return strings.ReplaceAll(stream, "\n", "\r")
	case 2:
		return "\ufeff" + strings.ReplaceAll(stream, "data: ", ": keep-alive\nretry: 5\nDATA:")
	case 3:
		return strings.ReplaceAll(strings.ReplaceAll(stream, "event: ", " event: "), "data: ", "\ufeff  data:\t")
	case 4:
		return strings.ReplaceAll(stream, "\n\n", "\n")
	case 5:
		return strings.ReplaceAll(stream, "\n\n", "\r\n: comment\r\n")
	case 6:
		return strings.Join(objects, "")
	case 7:
		return "[" + strings.Join(objects, ",\r\n") + "]"
	case 8:
		return "[\n" + strings.Join(objects, "\n,\n") + "\n]\n"
	case 9:
		return "data: [" + strings.Join(objects, ",") + "]\n\ndata: \"[DONE]\"\n\n"
	case 10:
		return "data: " + strings.Join(objects, "data: ") + "[done]\n\n"
	}
	var out bytes.Buffer
	for _, o := range objects {
		_ = json.Indent(&out, []byte(o), "", "  ")
		out.WriteByte('\n')
	}
	return out.String()
}

// unlike describes the first difference between the answer of m and the one drawn, "" for none.
func (d *drawn) unlike(t *testing.T, m llm.Model) string {
	req := &llm.Request{Model: "m", Messages: []llm.Message{{Role: llm.User, Text: "q"}}, Tools: []llm.ToolSpec{{Name: "f"}, {Name: "read_file"}}}
	var shown strings.Builder
	got, err := m.Generate(t.Context(), req, func(d llm.Delta) { shown.WriteString(d.Text) })
	switch {
	case err != nil:
		return err.Error()
	case got.Message.Text != d.text:
		return fmt.Sprintf("text is\n%q, want\n%q", got.Message.Text, d.text)
	case shown.String() != d.text:
		return fmt.Sprintf("shown is\n%q, want\n%q", shown.String(), d.text)
	case got.Message.Thinking != d.thinking:
		return fmt.Sprintf("thinking is\n%q, want\n%q", got.Message.Thinking, d.thinking)
	case names(got.Message.Calls) != names(d.calls):
		return fmt.Sprintf("calls are\n%s, want\n%s", names(got.Message.Calls), names(d.calls))
	}
	return ""
}

func names(calls []llm.Call) string {
	var s strings.Builder
	for _, c := range calls {
		args := []byte(c.Args)
		var v any
		if json.Unmarshal(args, &v) == nil {
			args, _ = json.Marshal(v) // in one order
		}
		fmt.Fprintf(&s, "%s%s%s\n", c.Name, args, c.Malformed)
	}
	return s.String()
}
