package executor_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/pkg/executor"
)

// fill sets every field to something, so that one that is forgotten is seen.
func fill(v reflect.Value, n *int, deep int) {
	*n++
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.IsExported() && f.Tag.Get("json") != "-" && !strings.HasPrefix(f.Tag.Get("json"), "-,") {
				fill(v.Field(i), n, deep)
			}
		}
	case reflect.Pointer:
		if deep > 6 {
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n, deep+1)
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes([]byte(`{"n":9007199254740993,"s":"a\"b\\"}`))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n, deep+1)
		fill(v.Index(1), n, deep+1)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		e := reflect.New(v.Type().Elem()).Elem()
		fill(e, n, deep+1)
		v.SetMapIndex(reflect.ValueOf("key").Convert(v.Type().Key()), e)
	case reflect.String:
		v.SetString([]string{"plain", "with \"quotes\" and \\", "<tags> & ünïcode \n", `ends in \`}[*n%4])
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Uint16, reflect.Uint32, reflect.Uint8, reflect.Uint:
		v.SetUint(1)
	case reflect.Float64:
		v.SetFloat(float64(*n) / 8)
	}
}

// TestQuick reads what steps take and give as encoding/json does: every field,
// and forms that it would not have written.
func TestQuick(t *testing.T) {
	for _, of := range []reflect.Type{reflect.TypeFor[executor.Use](), reflect.TypeFor[executor.Reply](), reflect.TypeFor[executor.Ask](), reflect.TypeFor[executor.Answer]()} {
		t.Run(of.Name(), func(t *testing.T) {
			full := reflect.New(of)
			n := 0
			fill(full.Elem(), &n, 0)
			whole, err := json.Marshal(full.Interface())
			if err != nil {
				t.Fatal(err)
			}
			bare, err := json.Marshal(reflect.New(of).Interface())
			if err != nil {
				t.Fatal(err)
			}
			spaced, err := json.MarshalIndent(full.Interface(), "", " ")
			if err != nil {
				t.Fatal(err)
			}
			for _, doc := range []string{string(whole), string(bare), string(spaced), `{}`, `null`, `{"took_ns":1e3,"unknown":{"a":[1,"}"]}}`,
				`{"message":null,"new":null,"args":null,"text":null}`, `{"TEXT":"x","Model":"y","Args":{}}`, `{"new":[],"message":{"calls":[]}}`,
				`{"text":3}`, `{"args":{}`, `{"room":"x"}`, `[]`, `{"text":"\ud800"}`, "{\"text\":\"a\xffb\"}", `{"text":"a","text":"b"}`, `{"a":1,}`, `{"message":{"calls":[{"args":{"a":[]}},]}}`} {
				// The same type without our methods.
				want, got := reflect.New(plainOf(of)), reflect.New(of)
				wantErr := json.Unmarshal([]byte(doc), want.Interface())
				gotErr := json.Unmarshal([]byte(doc), got.Interface())
				if (wantErr == nil) != (gotErr == nil) {
					t.Errorf("%s: %v, want %v", doc, gotErr, wantErr)
					continue
				}
				if wantErr != nil {
					continue
				}
				a, err := json.Marshal(want.Interface())
				if err != nil {
					t.Fatal(err)
				}
				b, err := json.Marshal(got.Interface())
				if err != nil || string(a) != string(b) {
					t.Errorf("%s is read as\n%s, want\n%s; %v", doc, b, a, err)
				}
			}
		})
	}
}

type (
	plainUse    executor.Use
	plainReply  executor.Reply
	plainAsk    executor.Ask
	plainAnswer executor.Answer
)

func plainOf(t reflect.Type) reflect.Type {
	return map[string]reflect.Type{"Use": reflect.TypeFor[plainUse](), "Reply": reflect.TypeFor[plainReply](),
		"Ask": reflect.TypeFor[plainAsk](), "Answer": reflect.TypeFor[plainAnswer]()}[t.Name()]
}

func FuzzQuick(f *testing.F) {
	f.Add(`{"message":{"role":"assistant","calls":[{"id":"a","name":"f","args":{"n":1}}]},"usage":{"in":1,"out":2},"took_ns":5}`)
	f.Add(`{"args":{"path":"a"},"may":{"mode":"auto"},"room":100}`)
	f.Add(`{"text":"a\\","failed":true}`)
	f.Fuzz(func(t *testing.T, doc string) {
		for _, of := range []reflect.Type{reflect.TypeFor[executor.Use](), reflect.TypeFor[executor.Reply](), reflect.TypeFor[executor.Ask](), reflect.TypeFor[executor.Answer]()} {
			want, got := reflect.New(plainOf(of)), reflect.New(of)
			wantErr, gotErr := json.Unmarshal([]byte(doc), want.Interface()), json.Unmarshal([]byte(doc), got.Interface())
			if (wantErr == nil) != (gotErr == nil) {
				t.Fatalf("%q: %v, want %v", doc, gotErr, wantErr)
			}
			if wantErr == nil && !reflect.DeepEqual(got.Elem().Convert(plainOf(of)).Interface(), want.Elem().Interface()) {
				t.Fatalf("%q is read as\n%+v, want\n%+v", doc, got, want)
			}
		}
	})
}
