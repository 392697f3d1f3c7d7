package executor_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/adroit-run/adroit/internal/stored"
	"github.com/adroit-run/adroit/internal/turn"
	"github.com/adroit-run/adroit/pkg/executor"
	"github.com/adroit-run/adroit/pkg/llm"
)

// A type of a record that reads itself refuses a key that it does not know, as all the others do.
func TestOwnDecodersAreStrict(t *testing.T) {
	seen := map[reflect.Type]bool{}
	found := 0
	var walk func(reflect.Type)
	walk = func(typ reflect.Type) {
		if seen[typ] {
			return
		}
		seen[typ] = true
		switch typ.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
			walk(typ.Elem())
		case reflect.Struct:
			v := reflect.New(typ)
			if own, ok := v.Interface().(json.Unmarshaler); ok && typ.PkgPath() != "time" {
				found++
				if err := own.UnmarshalJSON([]byte(`{"unknown_key":1}`)); err == nil {
					t.Errorf("%s passes over a key that it does not know", typ)
				}
			}
			for i := range typ.NumField() {
				walk(typ.Field(i).Type)
			}
		}
	}
	for _, root := range []any{executor.State{}, executor.Task{}, executor.ToolResult{}, executor.Message{}, turn.ToolCall{}, llm.Response{}, llm.Request{}} {
		walk(reflect.TypeOf(root))
	}
	if found < 2 {
		t.Errorf("there are %d such types", found)
	}
	var m llm.Message
	if err := stored.Decode([]byte(`{"role":"assistant","calls":[{"id":"1","name":"x","args":{}}]}`), &m); err != nil {
		t.Error(err)
	}
	if err := stored.Decode([]byte(`{"role":"assistant","calls":[{"id":"1","name":"x","args":{},"until":"noon"}]}`), &m); err == nil {
		t.Error("a call with an unknown key is read")
	}
}
