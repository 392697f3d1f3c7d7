package tools_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/adroit-run/adroit/pkg/tools"
)

func TestFamily(t *testing.T) {
	part := tools.New(tools.Metadata{Name: "part", Description: "Makes a part.", UsageHint: "x", Category: "utility", Produces: []string{"part/*"}},
		func(context.Context, *tools.Env, struct{}) (tools.Result, error) {
			return tools.Result{Text: "made", Artifacts: map[string]json.RawMessage{"part/a": []byte(`1`), "other/a": []byte(`2`)}}, nil
		})
	join := tools.New(tools.Metadata{Name: "join", Description: "Joins parts.", UsageHint: "x", Category: "utility", Consumes: []string{"part/*"}, Produces: []string{"whole"}},
		func(context.Context, *tools.Env, struct{}) (string, error) { return "joined", nil })
	set, err := tools.NewSet(part, join)
	if err != nil {
		t.Fatal(err)
	}
	if n := set.Offered(nil).Len(); n != 1 {
		t.Errorf("%d tools are offered before there is a part", n)
	}
	r, err := part.Run(t.Context(), nil, json.RawMessage(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := slices.Collect(maps.Keys(r.Artifacts)); !slices.Equal(got, []string{"part/a"}) {
		t.Errorf("kept %v", got)
	}
	if n := set.Offered([]string{"part/a"}).Len(); n != 2 {
		t.Errorf("%d tools are offered with a part", n)
	}
}
