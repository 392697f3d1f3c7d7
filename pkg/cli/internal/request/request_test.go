package request

import "testing"

func TestInputs(t *testing.T) {
	for in, want := range map[string]string{
		"007": `"007"`, "true": `"true"`, `{"a": 1}`: `{"a": 1}`, "[1]": "[1]", "[draft]": `"[draft]"`, "": `""`,
	} {
		got, err := structured(in)
		if err != nil || string(got) != want {
			t.Errorf("structured(%q) = %s, %v; want %s", in, got, err, want)
		}
	}
}
