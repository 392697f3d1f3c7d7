package stored_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/stored"
)

type colour string

func (c colour) Known() bool { return slices.Contains([]colour{"red", "green"}, c) }

type inner struct {
	Colour colour `json:"colour,omitempty"`
}

type record struct {
	inner
	List []inner           `json:"list,omitempty"`
	By   map[colour]*inner `json:"by,omitempty"`
	Free map[string]string `json:"free,omitempty"`
}

func TestDecode(t *testing.T) {
	for in, want := range map[string]string{
		`{}`: "",
		`{"colour":"red","list":[{"colour":"green"}],"by":{"red":null},"free":{"x":"y"}}`: "",
		`{"colour":"blue"}`:                `colour is "blue"`,
		`{"list":[{},{"colour":"blue"}]}`:  `list[1].colour is "blue"`,
		`{"by":{"blue":{}}}`:               `by["blue"] is "blue"`,
		`{"by":{"red":{"colour":"blue"}}}`: `by["red"].colour is "blue"`,
		`{"list":[{"shade":1}]}`:           `unknown field "shade"`,
		`{"list":1}`:                       `cannot unmarshal number`,
	} {
		var r record
		err := stored.Decode([]byte(in), &r)
		if want == "" {
			if err != nil {
				t.Errorf("%s: %v", in, err)
			}
			continue
		}
		if !errors.As(err, new(*stored.UnknownError)) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", in, err)
		}
	}
	if err := stored.Decode([]byte(`{"colour":`), new(record)); err == nil || errors.As(err, new(*stored.UnknownError)) {
		t.Errorf("what is cut off: %v", err)
	}
}

// An enumeration that does not declare its values is reported at once.
func TestForgotten(t *testing.T) {
	type shade string
	defer func() {
		if recover() == nil {
			t.Error("nothing is said")
		}
	}()
	var v struct {
		Deep []map[string]*struct{ Shade shade }
	}
	_ = stored.Decode([]byte(`{}`), &v)
}
