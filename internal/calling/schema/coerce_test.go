package schema_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/calling/schema"
)

// TestRepair lists arguments by small models and models trained for other programs, and arguments
// that stay refused because they could mean two things.
func TestRepair(t *testing.T) {
	type piece struct {
		Old string `json:"old"`
		New string `json:"new"`
		All bool   `json:"all,omitempty"`
	}
	s, err := schema.Infer[struct {
		Path  string   `json:"path"`
		Old   string   `json:"old,omitempty"`
		New   string   `json:"new,omitempty"`
		From  int      `json:"from,omitempty" jsonschema:"minimum=1"`
		Lines int      `json:"lines,omitempty"`
		Edits []piece  `json:"edits,omitempty"`
		Paths []string `json:"paths,omitempty"`
		Max   int      `json:"max,omitempty"`
	}]()
	if err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		`{"path":"a", "from": 3}`:                                           `{"path":"a", "from": 3}`, // as it was written
		`{"path":"a","from":"100","lines":"4"}`:                             `{"path":"a","from":100,"lines":4}`,
		`{"path":"a","edits":"[{\"old\":\"x<y\",\"new\":\"y\"}]"}`:          `{"path":"a","edits":[{"old":"x<y","new":"y"}]}`,
		`{"path":"a","edits":{"old":"x","new":"y"}}`:                        `{"path":"a","edits":[{"old":"x","new":"y"}]}`,
		`{"path":"a","edits":[{"old_string":"x","new_string":"y"}]}`:        `{"path":"a","edits":[{"old":"x","new":"y"}]}`,
		`{"path":"a","edits":[{"old":"x","new":"y","replace_all":"True"}]}`: `{"path":"a","edits":[{"old":"x","new":"y","all":true}]}`,
		`{"file_path":"a","old_string":"x","new_string":"y"}`:               `{"path":"a","old":"x","new":"y"}`,
		`{"filePath":"a","oldString":"x","newString":""}`:                   `{"path":"a","old":"x","new":""}`,
		`{"Path":"a","offset":7,"limit":3}`:                                 `{"path":"a","from":7,"lines":3}`,
		`{"pth":"a"}`:                                                       `{"path":"a"}`,
		`{"path":"a","paths":"b.go"}`:                                       `{"path":"a","paths":["b.go"]}`,
		`{"path":404,"from":null}`:                                          `{"path":"404"}`,
		`"{\"file_path\":\"a\"}`:                                            `"{\"file_path\":\"a\"}`,
		`"{\"file_path\":\"a\"}"`:                                           `{"path":"a"}`,
		`[{"path":"a"}]`:                                                    `{"path":"a"}`,
		`{"input":{"file_path":"a","from":2}}`:                              `{"path":"a","from":2}`,
		`{"path":"a","view_range":null}`:                                    `{"path":"a"}`,
	} {
		got, notes := s.Repair(json.RawMessage(in))
		if string(got) != want {
			t.Errorf("%s becomes %s, want %s", in, got, want)
		}
		if changed := in != want; changed != (len(notes) > 0) {
			t.Errorf("%s: the notes are %q", in, notes)
		}
	}
	for _, in := range []string{
		`{"path":"a","from":"ten"}`,
		`{"path":"a","from":"0"}`,
		`{"path":"a","from":"3.5"}`,
		`{"path":"a","file_path":"b"}`,
		`{"path":"a","lines":1,"limit":2,"max":3}`,
		`{"path":["a","b"]}`,
		`{"path":null}`,
		`{"path":"a","edits":"[{\"old\":"}`,
		`{"path":"a","edits":[{"old":"x","news":{"a":1}}]}`,
		`{"path":"a","olds":"x"}`, // not one that is needed
		`{"path":"a","path":"b"}`,
		`["a"]`,
	} {
		if got, notes := s.Repair(json.RawMessage(in)); string(got) != in || notes != nil || s.Validate(got) == nil {
			t.Errorf("%s becomes %s with %q", in, got, notes)
		}
	}
	_, notes := s.Repair(json.RawMessage(`{"file_path":"a","from":"100"}`))
	if got := strings.Join(notes, "; "); got != "file_path is called path; from is an integer, not a string" {
		t.Errorf("the notes are %q", got)
	}
}
