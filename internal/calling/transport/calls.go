package transport

import (
	"cmp"
	"encoding/json"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/adroit-run/adroit/pkg/llm"
)

// A Piece is a part of a call in one chunk of a stream. Index and ID are in any form that the
// server uses, "" for none.
type Piece struct {
	Index, ID, Name, Args string
	Extra                 json.RawMessage // what the server wants back with the call
}

// Calls assembles tool calls from the pieces of a stream, each call once, however often and under
// whatever numbers the server sends it. The zero value is ready to use.
type Calls struct {
	list    []*call
	byIndex map[string]*call
	byID    map[string]*call
	whole   []*call // of messages that hold all that came so far
	phase   phase
}

// A phase is the progress of a stream. No call begins after the stream has announced its end.
type phase int

const (
	going phase = iota
	ending
	ended
)

type call struct {
	index, id, name string
	extra           json.RawMessage
	began           phase

	args   strings.Builder
	last   string // piece of args
	pieces int
	grows  bool // each piece so far repeats all that came before it
}

func (k *call) add(args string) {
	if args == "" {
		return
	}
	if strings.HasPrefix(strings.TrimSpace(args), "{") && k.blank() {
		k.args.Reset() // a place for what comes now
		k.pieces = 0
	}
	before, _ := join(k.last)
	k.grows = k.pieces == 0 || k.grows && strings.HasPrefix(args, before)
	k.args.WriteString(args)
	k.last = args
	k.pieces++
}

// value returns the call's arguments without repetitions, and whether they are complete. Some
// servers send all of it again in the last chunk, or all so far in each.
func (k *call) value() (string, bool) {
	all := strings.TrimSpace(joined(k.args.String()))
	if json.Valid([]byte(all)) {
		return all, true
	}
	if last := strings.TrimSpace(joined(k.last)); k.pieces > 1 && strings.HasPrefix(last, "{") && json.Valid([]byte(last)) &&
		(k.grows || strings.HasPrefix(last, strings.TrimSpace(joined(k.args.String()[:k.args.Len()-len(k.last)])))) {
		return last, true
	}
	dec, only := json.NewDecoder(strings.NewReader(all)), ""
	for {
		var v json.RawMessage
		switch err := dec.Decode(&v); {
		case err == io.EOF && only != "":
			return only, true
		case err != nil, only != "" && !blank(string(v)) && !equal(only, string(v)):
			return begunAgain(all)
		}
		if only == "" || !blank(string(v)) {
			only = string(v)
		}
	}
}

// begunAgain finds a whole object after its own beginning, which some servers' parsers send first;
// it returns all and false if there is none. Where an object may be a value, the rest may be the
// beginning of a truncated one.
func begunAgain(all string) (string, bool) {
	if all == "" {
		return all, false
	}
	at := 0
	for range 64 { // objects in the beginning
		i := strings.IndexByte(all[at+1:], '{')
		if i < 0 || at+1+i > len(all)/2 {
			break
		}
		at += 1 + i
		before, rest := strings.TrimRight(all[:at], " \t\r\n"), all[at:]
		if !strings.ContainsAny(before[len(before)-1:], ":,[") && strings.HasPrefix(rest, before) && json.Valid([]byte(rest)) {
			return rest, true
		}
	}
	return all, false
}

// blank reports whether arguments are there for the form only.
func blank(args string) bool {
	switch strings.Join(strings.Fields(args), "") {
	case "", "{}", "null", `""`:
		return true
	}
	return false
}

// equal reports whether arguments are the same, however they are written, and in any order.
func equal(a, b string) bool {
	if a == b || blank(a) && blank(b) {
		return true
	}
	var v [2]any
	for i, s := range []string{a, b} {
		dec := json.NewDecoder(strings.NewReader(s))
		dec.UseNumber()
		if !json.Valid([]byte(s)) || dec.Decode(&v[i]) != nil {
			return false
		}
	}
	return reflect.DeepEqual(v[0], v[1])
}

// complete reports whether the call can stand for itself, so that the start of
// another must not be glued to it.
func (k *call) complete() bool {
	if k.name == "" || !strings.HasSuffix(strings.TrimRight(k.last, " \t\r\n"), "}") {
		return false
	}
	_, ok := k.value()
	return ok
}

// blank reports whether the call has no arguments so far.
func (k *call) blank() bool {
	const most = 64 // more is no place for what comes; each piece asks
	return k.args.Len() <= most && blank(k.args.String())
}

// Add takes one piece. It belongs to the call with its index, else to the one with its
// id, else to the last. Servers that give every call the same index or id, and each piece
// another, are seen through by the pieces that start a call.
func (c *Calls) Add(p Piece) {
	if c.byIndex == nil {
		c.byIndex, c.byID = map[string]*call{}, map[string]*call{}
	}
	var k *call
	if p.Index != "" {
		k = c.byIndex[p.Index]
	}
	if k == nil && p.ID != "" {
		k = c.byID[p.ID]
	}
	if n := len(c.list); k == nil && n > 0 && p.ID == "" && (p.Index == "" || p.Name == "") {
		k = c.list[n-1]
	} else if k == nil && n > 0 && p.Name == "" && p.Args != "" && (c.list[n-1].blank() || !c.list[n-1].complete()) {
		k = c.list[n-1]
	}
	if k == nil && p.ID == "" && p.Name == "" && p.Args == "" {
		return // null, or a place for a call that may come
	}
	if k == nil || k.ended(p) {
		k = &call{index: p.Index, id: p.ID, began: c.phase}
		c.list = append(c.list, k)
	}
	if p.Index != "" {
		c.byIndex[p.Index] = k
	}
	if p.ID != "" {
		c.byID[p.ID] = k
		k.id = cmp.Or(k.id, p.ID)
	}
	if strings.HasPrefix(p.Name, k.name) {
		k.name = p.Name
	} else {
		k.name += p.Name
	}
	if len(p.Extra) > 0 {
		k.extra = p.Extra
	}
	k.add(p.Args)
}

// ended reports whether p starts a call behind k, to which its numbers point.
func (k *call) ended(p Piece) bool {
	switch {
	case p.Name == "":
		return false
	case p.ID != "" && k.id != "" && p.ID != k.id:
		// Some servers make an id for each piece.
		return k.args.Len() == 0 || p.Name != k.name || k.complete() || strings.HasPrefix(p.Args, "{")
	}
	return k.complete() && (p.Name != k.name || !k.blank())
}

// AddWhole takes the calls of a message that contains all calls received so far, or a part of
// them.
func (c *Calls) AddWhole(list []Piece) {
	var taken []*call
	for _, p := range list {
		i := slices.IndexFunc(c.whole, func(w *call) bool {
			if slices.Contains(taken, w) || w.name != p.Name {
				return false
			}
			had := w.args.String()
			return w.id != "" && w.id == p.ID || (w.id == "" || p.ID == "") && (strings.HasPrefix(p.Args, had) || strings.HasPrefix(had, p.Args))
		})
		if i >= 0 && len(p.Args) <= c.whole[i].args.Len() {
			taken = append(taken, c.whole[i])
			continue
		}
		w := &call{id: p.ID, name: p.Name, extra: p.Extra, began: c.phase}
		w.add(p.Args)
		if taken = append(taken, w); i >= 0 {
			c.whole[i] = w
		} else {
			c.whole = append(c.whole, w)
		}
	}
}

// Done reports whether the last call has its arguments, so that more are another's.
func (c *Calls) Done() bool {
	n := len(c.list)
	return n > 0 && !c.list[n-1].blank() && c.list[n-1].complete()
}

// Len returns the number of calls begun.
func (c *Calls) Len() int { return len(c.list) + len(c.whole) }

// once returns the calls without repetitions.
func (c *Calls) once() (list []*call) {
	for _, k := range c.list {
		if i := slices.IndexFunc(list, func(had *call) bool { return k.repeats(had) }); i < 0 {
			list = append(list, k)
		} else if len(list[i].extra) == 0 {
			list[i].extra = k.extra
		}
	}
	streamed := len(list)
	for i, w := range c.whole {
		args, _ := w.value()
		of := slices.IndexFunc(list[:streamed], func(k *call) bool {
			had, _ := k.value()
			return k.name == w.name && (w.id != "" && w.id == k.id || equal(had, args))
		})
		switch {
		case of >= 0:
		case w.id == "" && i < streamed && list[i].name == w.name:
			of = i
		default:
			of = slices.IndexFunc(list, w.repeats)
		}
		switch {
		case of < 0:
			list = append(list, w)
		case !list[of].complete() && w.complete():
			if w.id = cmp.Or(list[of].id, w.id); len(list[of].extra) > 0 {
				w.extra = list[of].extra
			}
			list[of] = w
		}
	}
	return list
}

// repeats reports whether k is a repetition of had. Two intended equal calls have two IDs, or come
// before the stream announces its end.
func (k *call) repeats(had *call) bool {
	if k.name != had.name {
		return false
	}
	sameID, sameIndex := k.id != "" && k.id == had.id, k.index != "" && k.index == had.index
	anonymous := k.id == "" || had.id == ""
	a, _ := k.value()
	b, _ := had.value()
	switch {
	case sameID && blank(a), sameIndex && anonymous && blank(a):
		return true
	case !equal(a, b):
		return false
	case sameID, sameIndex && anonymous:
		return true
	}
	return had.began < k.began && (k.began == ended || anonymous || sameIndex)
}

// List returns the calls, still untidied.
func (c *Calls) List() []llm.Call {
	list := c.once()
	out := make([]llm.Call, len(list))
	for i, k := range list {
		args, _ := k.value()
		out[i] = llm.Call{ID: k.id, Name: k.name, Args: json.RawMessage(args)}
	}
	return out
}

// Extra returns the provider's extra data of the calls of List, by their index.
func (c *Calls) Extra() map[int]json.RawMessage {
	var out map[int]json.RawMessage
	for i, k := range c.once() {
		if len(k.extra) > 0 {
			if out == nil {
				out = map[int]json.RawMessage{}
			}
			out[i] = k.extra
		}
	}
	return out
}

// complete reports whether no call waits for more of its arguments.
func (c *Calls) complete() bool {
	return !slices.ContainsFunc(c.once(), func(k *call) bool { return k.name == "" || k.args.Len() > 0 && !k.complete() })
}
