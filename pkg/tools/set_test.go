package tools

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

func named(names ...string) []Tool {
	var out []Tool
	for _, n := range names {
		out = append(out, New(Metadata{Name: n, Description: "Does " + n + "."}, func(context.Context, *Env, in) (string, error) { return n, nil }))
	}
	return out
}

func mustSet(t *testing.T, list ...Tool) *Set {
	t.Helper()
	s, err := NewSet(list...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

type tree struct {
	Kids []*tree `json:"kids"`
}

func TestNewSetReportsAllFaults(t *testing.T) {
	f := func(context.Context, *Env, in) (string, error) { return "", nil }
	rec := func(context.Context, *Env, tree) (string, error) { return "", nil }
	_, err := NewSet(
		New(Metadata{Name: "Bad-Name", Description: "x"}, f),
		New(Metadata{Name: "mute"}, f),
		New[in, string](Metadata{Name: "idle", Description: "x"}, nil),
		New(Metadata{Name: "deep", Description: "x"}, rec),
		Tool{Metadata: Metadata{Name: "bare", Description: "x"}},
		New(Metadata{Name: "sly", Description: "x", Needs: Write | Read, Effect: Pure}, f),
		New(Metadata{Name: "odd", Description: "x", Effect: "perhaps", Optionality: "maybe", Timeout: -1, Consumes: []string{""}, Produces: []string{"a", "a"}}, f),
		New(Metadata{Name: "cond", Description: "x", Optionality: Conditional}, f),
		New(Metadata{Name: "when", Description: "x", When: "raining"}, f),
		New(Metadata{Name: "wrong", Description: "x", Examples: []Example{{Args: json.RawMessage(`{"n":"1"}`)}}}, f),
		New(Metadata{Name: "read_file", Description: "x"}, f),
		New(Metadata{Name: "readfile", Description: "x"}, f),
		New(Metadata{Name: "wrong", Description: "x"}, f),
	)
	if err == nil {
		t.Fatal("all of this is taken")
	}
	const want = `tool "Bad-Name" has a bad name: use small letters, digits and underscores, a letter first, at most 64 bytes
tool "mute" has no description: say in a sentence what it does and returns
tool "idle" has nothing to call: give it a function
tool "deep" has no usable input: tools.tree.Kids is recursive: it holds another tools.tree; models cannot be given such a type, bound its depth
tool "bare" has nothing to call: give it a function
tool "bare" has no input schema: make it with tools.New or tools.Func
tool "sly" is declared pure but needs write: declare it idempotent if repeating a call does no harm, or leave the effect out
tool "odd" has the effect "perhaps": use pure, idempotent or unsafe, or leave it out
tool "odd" has the optionality "maybe": use required, optional or conditional
tool "odd" has a timeout of -1ns: use a millisecond to 24h0m0s, or zero for 2m0s
tool "odd" consumes "": a name must not be empty or begin or end with white space
tool "odd" produces "a" twice
tool "cond" is conditional but does not say when: fill in When
tool "when" says when to use it but is not conditional: set its optionality to conditional or say it in the hint
tool "wrong" has an example (number 1) that it would refuse: it has a fault: n is the string "1", want an integer
tools "read_file" and "readfile" differ only in case or underscores; a model cannot tell them apart, rename one
tool "wrong" is registered twice; rename one or leave it out`
	if err.Error() != want {
		t.Errorf("got:\n%s\nwant:\n%s", err, want)
	}
}

func TestSetSelects(t *testing.T) {
	s := mustSet(t, named("git_log", "read_file", "git_diff", "shell")...)
	if got := s.Names(); !slices.Equal(got, []string{"git_diff", "git_log", "read_file", "shell"}) {
		t.Errorf("names %v", got)
	}
	only, err := s.Only("git_*", "shell")
	if err != nil || !slices.Equal(only.Names(), []string{"git_diff", "git_log", "shell"}) {
		t.Errorf("Only: %v, %v", only.Names(), err)
	}
	_, err = s.Only("read_fil", "web_*", "constructor", "[", "shell")
	const want = `unknown tool "read_fil" (did you mean "read_file"?)
no tool matches "web_*"; there are git_diff, git_log, read_file, shell
unknown tool "constructor"; there are git_diff, git_log, read_file, shell
tool pattern "[" is malformed; wildcards are *, ? and [a-z]`
	if err == nil || err.Error() != want {
		t.Errorf("got:\n%v\nwant:\n%s", err, want)
	}
	if got := s.Without("git_*", "absent").Names(); !slices.Equal(got, []string{"read_file", "shell"}) {
		t.Errorf("Without: %v", got)
	}
	if s.Len() != 4 {
		t.Error("a view changes its set")
	}
	if _, err := s.With(named("shell")...); err == nil {
		t.Error("With takes a duplicate")
	}
	for name, want := range map[string]string{"ReadFile": "read_file", "read file": "read_file", "gitlog": "git_log", "constructor": "", "": "", "\u0440ead": ""} {
		if got := s.Nearest(name); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", name, got, want)
		}
		if _, ok := s.Lookup(name); ok {
			t.Errorf("Lookup(%q) finds a tool", name)
		}
	}
	var none *Set
	switch {
	case none.Len() != 0:
		t.Errorf("none.Len() is not 0: a nil Set is not empty")
	case len(none.Names()) != 0:
		t.Errorf("len(none.Names()) is not 0: a nil Set is not empty")
	case none.Specs() != nil:
		t.Errorf("none.Specs() is not nil: a nil Set is not empty")
	case none.Without("x").Len() != 0:
		t.Errorf(`none.Without("x").Len() is not 0: a nil Set is not empty`)
	case none.Describe(nil) != "":
		t.Errorf(`none.Describe(nil) is not "": a nil Set is not empty`)
	}
}

func TestSpecsAreStable(t *testing.T) {
	list := named("b", "a", "c")
	first, _ := json.Marshal(mustSet(t, list...).Specs())
	slices.Reverse(list)
	second, _ := json.Marshal(mustSet(t, list...).Specs())
	if string(first) != string(second) || !strings.HasPrefix(string(first), `[{"name":"a","description":"Does a.","input":{"properties"`) {
		t.Errorf("%s\n%s", first, second)
	}
}

func flow(name string, o Optionality, consumes, produces []string) Tool {
	m := Metadata{Name: name, Description: "x", Optionality: o, Consumes: consumes, Produces: produces, Category: "content"}
	if o == Conditional {
		m.When = "asked"
	}
	return New(m, func(context.Context, *Env, in) (string, error) { return "", nil })
}

func TestOfferedAndSuggested(t *testing.T) {
	s := mustSet(t,
		flow("draft", "", nil, []string{"post"}), flow("cover", Optional, []string{"post"}, []string{"image"}),
		flow("publish", Conditional, []string{"post", "image"}, []string{"url"}), flow("fetch", Optional, nil, []string{"feed"}))
	for _, c := range []struct {
		have               []string
		offered, suggested string
	}{
		{nil, "draft fetch", "draft fetch"},
		{[]string{"post"}, "cover draft fetch", "cover fetch"},
		{[]string{"image", "post"}, "cover draft fetch publish", "publish fetch"},
	} {
		if got := strings.Join(s.Offered(c.have).Names(), " "); got != c.offered {
			t.Errorf("%v: offered %s, want %s", c.have, got, c.offered)
		}
		if got := strings.Join(s.Suggest(c.have), " "); got != c.suggested {
			t.Errorf("%v: suggested %s, want %s", c.have, got, c.suggested)
		}
	}
	if got := s.ByOptionality(Required).Names(); !slices.Equal(got, []string{"draft"}) {
		t.Errorf("required: %v", got)
	}
	if s.ByCategory("content").Len() != 4 || s.ByCategory("code").Len() != 0 {
		t.Error("ByCategory")
	}
}

func TestBundle(t *testing.T) {
	opt := named("opt")[0]
	opt.Optionality, opt.When = Conditional, "asked"
	req := named("req")[0]
	req.Optionality = Optional
	got := Bundle{Required: []Tool{req}, Optional: []Tool{opt, named("other")[0]}}.Tools()
	switch {
	case len(got) != 3:
		t.Errorf("len(got) is %v, want 3: %+v", len(got), got)
	case got[0].Optionality != Required:
		t.Errorf("got[0].Optionality is %v, want %v: %+v", got[0].Optionality, Required, got)
	case got[1].Optionality != Conditional:
		t.Errorf("got[1].Optionality is %v, want %v: %+v", got[1].Optionality, Conditional, got)
	case got[2].Optionality != Optional:
		t.Errorf("got[2].Optionality is %v, want %v: %+v", got[2].Optionality, Optional, got)
	}
}

func TestCaps(t *testing.T) {
	for _, c := range []Caps{0, Read, Read | Exec, Write | Publish, Read | Write | Exec | Shell | Net | Think | Publish} {
		var back Caps
		err := back.UnmarshalText([]byte(c.String()))
		if err != nil || back != c {
			t.Errorf("%s reads back as %s, %v", c, back, err)
		}
		b, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		var again Caps
		if err := json.Unmarshal(b, &again); err != nil || again != c {
			t.Errorf("%s reads back as %s, %v", b, again, err)
		}
	}
	if got := (Read | Write).String(); got != "read,write" {
		t.Errorf("String %q", got)
	}
	var all Caps
	if err := all.UnmarshalText([]byte("all")); err != nil || !all.Has(Read|Publish) || Caps(Read).Has(Read|Write) {
		t.Errorf("all is %s, %v", all, err)
	}
	if err := all.UnmarshalText([]byte("read,wirte")); err == nil || !strings.Contains(err.Error(), `"wirte" (did you mean "write"?)`) {
		t.Errorf("%v", err)
	}
	var c Caps
	if json.Unmarshal([]byte(`3`), &c) == nil {
		t.Error("a number is taken for a list of names")
	}
}

func TestSafe(t *testing.T) {
	for _, c := range []struct {
		m    Metadata
		want Effect
	}{
		{Metadata{}, Unsafe}, {Metadata{Needs: Read}, Pure}, {Metadata{Needs: Read | Think}, Pure}, {Metadata{Needs: Write}, Unsafe}, {Metadata{Needs: Net}, Unsafe},
		{Metadata{Needs: Exec, Effect: Idempotent}, Idempotent}, {Metadata{Effect: Unsafe}, Unsafe},
	} {
		if got := c.m.Safe(); got != c.want {
			t.Errorf("%s %q is %s, want %s", c.m.Needs, c.m.Effect, got, c.want)
		}
	}
}

func TestTimeoutsThatAreTaken(t *testing.T) {
	for d, ok := range map[time.Duration]bool{0: true, time.Millisecond: true, maxTimeout: true, maxTimeout + 1: false, 1: false} {
		tool := named("a")[0]
		tool.Timeout = d
		if err := tool.Check(); (err == nil) != ok {
			t.Errorf("%s: %v", d, err)
		}
	}
}
