package mcp

import "testing"

// A Pool caches the records it has read: it sees changes by another process, and a caller's
// changes to its record affect nobody else.
func TestRecordKept(t *testing.T) {
	o, s := Options{Dir: t.TempDir()}, Server{URL: "http://127.0.0.1:1/mcp"}
	p, other := New(o), New(o)
	tools := func(p *Pool, want string) *record {
		t.Helper()
		r, err := p.record("one", s)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, d := range r.Tools {
			got += d.Name
		}
		if got != want {
			t.Errorf("the tools are %q, want %q", got, want)
		}
		return r
	}
	save := func(r *record, names ...string) {
		t.Helper()
		r.Tools = nil
		for _, name := range names {
			r.Tools = append(r.Tools, definition{Name: name})
		}
		if err := r.save(o.Dir, s); err != nil {
			t.Fatal(err)
		}
	}
	save(tools(p, ""), "a", "b")
	tools(p, "ab").Tools[0].Name = "x"
	tools(p, "ab")
	save(tools(other, "ab"), "c", "d")
	tools(p, "cd")
	if err := forget(o.Dir, "", "one"); err != nil {
		t.Fatal(err)
	}
	tools(p, "")
}
