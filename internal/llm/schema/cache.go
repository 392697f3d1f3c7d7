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
	kept map[cached]json.RawMessage
}

type cached struct{ dialect, full string }

const mostCached = 256

// Down is [Dialect.Down]. The result must not be changed.
func (c *Cache) Down(d *Dialect, full json.RawMessage) (json.RawMessage, error) {
	key := cached{d.Name, string(full)}
	c.mu.Lock()
	had, ok := c.kept[key]
	c.mu.Unlock()
	if ok {
		return had, nil
	}
	down, err := d.Down(full)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil || len(c.kept) >= mostCached {
		c.kept = map[cached]json.RawMessage{}
	}
	c.kept[key] = down
	return down, nil
}

// Strict is [Cache.Parameters] in the strict dialect. It reports false for a
// schema that has no strict form which says the same; that tool has to go out
// without.
func (c *Cache) Strict(about string, full json.RawMessage) (string, json.RawMessage, bool, error) {
	n, err := parse(full)
	if len(full) > 0 && (err != nil || !Closes(full) || n.loses()) {
		return about, nil, false, nil
	}
	about, down, err := c.Parameters(Strict, about, full)
	return about, down, err == nil, err
}

// Parameters gives the schema of a tool's arguments in d's words, and what is
// to be said of the tool: what the root had in words goes there, since
// servers drop it from the schema.
func (c *Cache) Parameters(d *Dialect, about string, full json.RawMessage) (string, json.RawMessage, error) {
	down, err := c.Down(d, full)
	if err != nil {
		return "", nil, err
	}
	n, err := parse(down)
	if err != nil {
		return "", nil, err
	}
	if words := n.at("description").string(); words != "" {
		return strings.TrimSpace(about + " " + words), n.without("description").appendTo(nil), nil
	}
	return about, down, nil
}
