package schema

import (
	"encoding/json"
	"strings"
	"sync"
)

// A Cache remembers schemas in a dialect's words, since the same tools are
// offered again and again. The zero value is ready; it is safe for concurrent
// use.
type Cache struct {
	mu   sync.Mutex
	kept map[cached]form
}

type cached struct{ dialect, full string }

// A form is a schema in a dialect's words, and what its root has in words apart
// from the rest of it.
type form struct {
	schema, bare json.RawMessage
	words        string
}

const mostCached = 256

// Down is [Dialect.Down]. The result must not be changed.
func (c *Cache) Down(d *Dialect, full json.RawMessage) (json.RawMessage, error) {
	f, err := c.form(d, full)
	return f.schema, err
}

func (c *Cache) form(d *Dialect, full json.RawMessage) (form, error) {
	key := cached{d.Name, string(full)}
	c.mu.Lock()
	had, ok := c.kept[key]
	c.mu.Unlock()
	if ok {
		return had, nil
	}
	down, err := d.Down(full)
	if err != nil {
		return form{}, err
	}
	n, err := parseNode(down)
	if err != nil {
		return form{}, err
	}
	f := form{schema: down, bare: down, words: n.At("description").Str()}
	if f.words != "" {
		f.bare = n.Without("description").Append(nil)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil || len(c.kept) >= mostCached {
		c.kept = map[cached]form{}
	}
	c.kept[key] = f
	return f, nil
}

// Strict is [Cache.Parameters] in the strict dialect. It reports false for a
// schema that has no strict form which says the same; that tool has to go out
// without.
func (c *Cache) Strict(about string, full json.RawMessage) (string, json.RawMessage, bool, error) {
	n, err := parseNode(full)
	if len(full) > 0 && (err != nil || !Closes(full) || loses(n)) {
		return about, nil, false, nil
	}
	about, down, err := c.Parameters(Strict, about, full)
	return about, down, err == nil, err
}

// Parameters gives the schema of a tool's arguments in d's words, and what is
// to be said of the tool: what the root had in words goes there, since
// servers drop it from the schema.
func (c *Cache) Parameters(d *Dialect, about string, full json.RawMessage) (string, json.RawMessage, error) {
	f, err := c.form(d, full)
	if f.words != "" {
		about = strings.TrimSpace(about + " " + f.words)
	}
	return about, f.bare, err
}
