package transport

import (
	"bufio"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/llm"
)

// A refusal is a line of testdata/refusals.jsonl: a provider's answer, its source, and its
// meaning.
type refusal struct {
	Of      string            `json:"of"`
	Status  int               `json:"status"` // 200: inside an answer
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
	Kind    llm.ErrorKind     `json:"kind"`
	Wait    float64           `json:"wait"`   // seconds
	Denial  Denial            `json:"denial"` // what else than the key it is for
	Bytes   bool              `json:"bytes"`  // the limit is one of bytes
	Window  int               `json:"window"` // in tokens, if the refusal names it
	Source  string            `json:"source"`
}

func TestRefusals(t *testing.T) {
	f, err := os.Open("testdata/refusals.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	e := &Endpoint{Name: "x", Base: "http://x"}
	n := 0
	for lines := bufio.NewScanner(f); lines.Scan(); n++ {
		var c refusal
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		var got *llm.Error
		if c.Status == 200 {
			if err := e.ErrorIn([]byte(c.Body)); !errors.As(err, &got) {
				t.Errorf("%s: %s is no error", c.Of, c.Body)
				continue
			}
		} else {
			resp := &http.Response{StatusCode: c.Status, Header: http.Header{}}
			for k, v := range c.Headers {
				resp.Header.Set(k, v)
			}
			got = e.refused(resp, []byte(c.Body))
		}
		denied, _ := errors.AsType[Denial](got)
		if got.Kind != c.Kind || denied != c.Denial || errors.Is(got, tooManyBytes{}) != c.Bytes || got.RetryAfter != time.Duration(c.Wait*float64(time.Second)) || got.Window != c.Window {
			t.Errorf("%s %d %s\nis %s, denied for %q, bytes %v, to be waited for %s, a window of %d; want %s, %q, %v, %gs, %d", c.Of, c.Status, c.Body, got.Kind, denied, errors.Is(got, tooManyBytes{}), got.RetryAfter, got.Window, c.Kind, c.Denial, c.Bytes, c.Wait, c.Window)
		}
		if key := e.hint(llm.Auth); c.Kind == llm.Auth && (got.Hint == key) != (c.Denial == "") {
			t.Errorf("%s %d %s\nhas the hint %q", c.Of, c.Status, c.Body, got.Hint)
		}
		if c.Source == "" {
			t.Errorf("%s: %s has no source", c.Of, c.Body)
		}
	}
	if n < 60 {
		t.Errorf("%d refusals", n)
	}
}
