package executor

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/flow"
	"github.com/adroit-run/adroit/pkg/llm"
	"github.com/adroit-run/adroit/pkg/tools"
)

// TestEncode sets one field after the other, and those within it, beside what
// is nearly always there, so that a field that is left out is seen: also one
// that somebody adds to a message or a call.
func TestEncode(t *testing.T) {
	calls := []llm.Call{{ID: "call00001", Name: "edit_file", Args: json.RawMessage(`{"path":"a b","text":"x\ty\\"}`)}, {ID: "c2", Name: "list", Args: json.RawMessage(`{}`)}}
	list := []llm.Message{{Role: llm.User, Text: "go on <b>"}, {Role: llm.Assistant, Calls: calls}, {Role: llm.Tool, CallID: "c2", Name: "list", Text: "a\nb", Failed: true}}
	values := []any{
		&Use{Args: json.RawMessage(`{"a":1}`), Room: 5, May: &May{Mode: ModeAuto}},
		&Reply{}, &Answer{}, &Answer{Response: llm.Response{Message: list[1], Usage: llm.Usage{In: 1, Out: 2}}},
		&Ask{}, &Ask{New: []llm.Message{}}, &Ask{Head: "h", New: list, Model: "m"},
		&State{}, &State{New: list, Called: map[string]int{"list": 2}, Recent: []mark{{Call: "a", Full: "b"}}, Cost: 1e-9, Context: Gauge{Rate: 3300}},
	}
	for _, v := range values {
		checkEncoded(t, reflect.TypeOf(v).String(), v)
		each(reflect.ValueOf(v).Elem(), reflect.TypeOf(v).String(), 0, func(path string) { checkEncoded(t, path, v) })
	}
	for _, bad := range []any{&Use{Args: json.RawMessage(`{"a":`)}, &Ask{New: []llm.Message{{Calls: []llm.Call{{Args: json.RawMessage("{}}")}}}}}} {
		if b, err := encoded(bad); err == nil {
			t.Errorf("%+v is written as %s, want an error", bad, b)
		}
	}
}

// each sets every exported field within v in turn, has it checked, and sets it
// back.
func each(v reflect.Value, path string, deep int, check func(path string)) {
	var values []reflect.Value
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() || f.Anonymous {
				each(v.Field(i), path+"."+f.Name, deep, check)
			}
		}
		return
	case reflect.Pointer:
		if deep > 4 {
			return
		}
		values = append(values, reflect.New(v.Type().Elem()))
	case reflect.Slice:
		switch {
		case v.Type() == reflect.TypeFor[json.RawMessage]():
			for _, raw := range []string{`{"n": 1}`, `{"s":"<&>"}`, `"a b\"\u2028"`, `"\u2028"`, `[1,2]`, `null`, `"é"`, "{\n}"} {
				values = append(values, reflect.ValueOf(json.RawMessage(raw)))
			}
		case deep > 4:
			return
		default:
			values = append(values, reflect.MakeSlice(v.Type(), 0, 0), reflect.MakeSlice(v.Type(), 2, 2))
		}
	case reflect.Map:
		m := reflect.MakeMap(v.Type())
		for _, key := range []string{"z", "a<"} {
			e := reflect.New(v.Type().Elem()).Elem()
			if e.Type() == reflect.TypeFor[json.RawMessage]() {
				e.SetBytes([]byte("1"))
			}
			m.SetMapIndex(reflect.ValueOf(key).Convert(v.Type().Key()), e)
			one := reflect.MakeMap(v.Type())
			one.SetMapIndex(reflect.ValueOf(key).Convert(v.Type().Key()), e)
			values = append(values, one)
		}
		values = append(values, m, reflect.MakeMap(v.Type()))
	case reflect.String:
		for _, s := range []string{"x", "", "\"\\<>&\x00\b\f\n\r\t\x7f é \u2028\u2029 \xff\ufffd"} {
			values = append(values, reflect.ValueOf(s).Convert(v.Type()))
		}
	case reflect.Bool:
		values = append(values, reflect.ValueOf(true).Convert(v.Type()))
	case reflect.Float64:
		for _, f := range []float64{1, 0.1 + 0.2, 1e-7, 1e21, -2.5} {
			values = append(values, reflect.ValueOf(f))
		}
	case reflect.Int, reflect.Int64, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint:
		values = append(values, reflect.ValueOf(1).Convert(v.Type()))
	default:
		panic("a field of a kind that is not tried: " + path)
	}
	was := reflect.ValueOf(v.Interface())
	for _, now := range values {
		v.Set(now)
		check(path)
		if k := v.Kind(); k == reflect.Pointer {
			each(v.Elem(), path, deep+1, check)
		} else if k == reflect.Slice && v.Len() > 0 && v.Type().Elem().Kind() != reflect.Uint8 {
			each(v.Index(0), path+"[0]", deep+1, check)
		}
	}
	v.Set(was)
	if v.Kind() == reflect.Slice && v.Len() > 0 && v.Type().Elem().Kind() != reflect.Uint8 {
		each(v.Index(v.Len()-1), path+"[last]", deep+1, check) // beside what it has
	}
}

func encoded(v any) ([]byte, error) {
	switch v := v.(type) {
	case *Use:
		return v.AppendJSON(nil)
	case *Ask:
		return v.AppendJSON(nil)
	case *State:
		return v.AppendJSON(nil)
	case *Reply:
		return v.encode()
	case *Answer:
		return v.encode()
	}
	panic("no such type")
}

func checkEncoded(t *testing.T, path string, v any) {
	t.Helper()
	want, err := json.Marshal(v)
	got, gotErr := encoded(v)
	if (err == nil) != (gotErr == nil) || err == nil && string(got) != string(want) {
		t.Errorf("%s is written as\n%s %v, want\n%s %v", path, got, gotErr, want, err)
	}
}

func FuzzText(f *testing.F) {
	f.Add("a<b>\u2028\xff\n\"")
	f.Fuzz(func(t *testing.T, s string) {
		want, err := json.Marshal(s)
		if got := appendText(nil, s); err != nil || string(got) != string(want) {
			t.Fatalf("%q is written as %s, want %s", s, got, want)
		}
		raw := json.RawMessage(s)
		want, err = json.Marshal(raw)
		o := object{b: []byte("{")}
		o.raw("k", raw)
		if got, gotErr := o.end(); (err == nil) != (gotErr == nil) || err == nil && strings.TrimSuffix(strings.TrimPrefix(string(got), `{"k":`), "}") != string(want) {
			t.Fatalf("%q is written as %s, want %s", s, got, want)
		}
	})
}

// TestTold compares what watchers are told in the usual case with what they
// are told of the same step where there is more to tell.
func TestTold(t *testing.T) {
	long := strings.Repeat("é<", eventText)
	for _, r := range []Reply{{}, {Result: tools.Result{Text: "a\nb", Failed: true}, Sandbox: "full"}, {Result: tools.Result{Text: long, Summary: "s"}}} {
		use := mustJSON(t, Use{Args: json.RawMessage(`{"path":"a<b"}`)})
		words, data := describeTool(flow.Step{Input: use}, mustJSON(t, r))
		r.Spent = []Spend{{Model: "m"}}
		more, want := describeTool(flow.Step{Input: use}, mustJSON(t, r))
		alike(t, words, more, data, want, `"spent":[{"model":"m","usage":{"in":0,"out":0},"requests":0}],`)
	}
	for _, a := range []Answer{{}, {Why: "w", Calling: CallingText, Response: llm.Response{Stop: llm.StopCalls, Usage: llm.Usage{In: 3, Cached: 1},
		Message: llm.Message{Text: "one\ntwo", Calls: []llm.Call{{Name: "a"}, {Name: "b"}}}}}} {
		words, data := describeModel(flow.Step{}, mustJSON(t, a))
		a.Changed = []string{"f"}
		more, want := describeModel(flow.Step{}, mustJSON(t, a))
		alike(t, words, more, data, want, `,"changed":["f"]`)
	}
}

func alike(t *testing.T, words, more string, data, want json.RawMessage, besides string) {
	t.Helper()
	less := strings.Replace(string(want), besides, "", 1)
	if words != more || less == string(want) || string(data) != less {
		t.Errorf("told %q %s, want %q %s", words, data, more, less)
	}
}

func mustJSON(t *testing.T, v any) json.RawMessage {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
