package publish

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/adroit-run/adroit/pkg/tools"
)

func (j *job) tomorrow() time.Time { return time.Date(2026, 11, 22, 1, 0, 0, 0, time.UTC) }

// A receiver takes posts. It does nothing twice for one key if it is
// idempotent, and fails on demand.
type receiver struct {
	*httptest.Server
	t          *testing.T
	idempotent bool
	answer     string
	date       string // that it wants
	// description is the expected description.
	description string

	mu     sync.Mutex
	took   []string // keys, in order
	faults []string // of the next requests: 429, 500 (done), cut (done), dropped, 302, 303, 307
	asked  int
}

func newReceiver(t *testing.T, idempotent bool, faults ...string) *receiver {
	r := &receiver{t: t, idempotent: idempotent, faults: faults, date: "2026-11-21"}
	r.Server = httptest.NewServer(http.HandlerFunc(r.serve))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) serve(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if req.Method == http.MethodGet {
		for _, k := range r.took {
			if k == req.URL.Query().Get("key") {
				return
			}
		}
		http.NotFound(w, req)
		return
	}
	r.asked++
	fault := ""
	if len(r.faults) > 0 {
		fault, r.faults = r.faults[0], r.faults[1:]
	}
	switch fault {
	case "429":
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
		return
	case "302", "303", "307":
		code, _ := strconv.Atoi(fault)
		http.Redirect(w, req, "/elsewhere", code)
		return
	case "dropped":
		panic(http.ErrAbortHandler)
	}
	body, _ := io.ReadAll(req.Body)
	id, at := req.Header.Get("webhook-id"), req.Header.Get("webhook-timestamp")
	mac := hmac.New(sha256.New, []byte("secret"))
	fmt.Fprintf(mac, "%s.%s.%s", id, at, body)
	if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); req.Header.Get("webhook-signature") != want {
		r.t.Errorf("the signature is %s, want %s", req.Header.Get("webhook-signature"), want)
	}
	var got struct{ Key, Title, Slug, Markdown, Date, Description string }
	if err := json.Unmarshal(body, &got); err != nil || got.Key != id || got.Title != "T" || got.Slug != "t" || got.Markdown != "Text." || got.Date != r.date || got.Description != r.description {
		r.t.Errorf("got %s", body)
	}
	if has := req.Header.Get("Idempotency-Key"); r.idempotent && has != id || !r.idempotent && has != "" {
		r.t.Errorf("the idempotency key is %q", has)
	}
	if !r.idempotent || len(r.took) == 0 || r.took[len(r.took)-1] != id {
		r.took = append(r.took, id)
	}
	switch fault {
	case "":
		_, _ = io.WriteString(w, r.answer) // a client that is gone is the client's affair
	case "500":
		w.WriteHeader(http.StatusInternalServerError)
	case "cut":
		panic(http.ErrAbortHandler)
	}
}

// counts are the posts taken and the requests to take one.
func (r *receiver) counts() (took, asked int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.took), r.asked
}

func (r *receiver) tool(lookup bool) tools.Tool {
	w := Webhook{URL: r.URL + "/posts", SecretEnv: "HOOK", Idempotent: r.idempotent}
	if lookup {
		w.Lookup = r.URL + "/seen?key={key}"
	}
	return tool(r.t, Config{Webhooks: map[string]Webhook{"site": w}}, "publish_webhook")
}

func TestWebhook(t *testing.T) {
	for _, c := range []struct {
		name               string
		idempotent, lookup bool
		faults             string
		took               int
		want               string
	}{
		{"plain", true, false, "", 1, "Sent"},
		{"limited", false, false, "429 429", 1, "Sent"},
		{"sent elsewhere", true, false, "307", 0, "307 Temporary Redirect: it leads to /elsewhere"},
		{"done or sent elsewhere", false, false, "303", 0, "not known"},
		{"lookup, sent elsewhere", false, true, "302", 0, "not known"},
		{"idempotent, failing", true, false, "500 cut dropped 500", 1, "Sent"},
		{"idempotent, failing for good", true, false, "500 500 500 500 500", 1, "not known"},
		{"lookup, done", false, true, "500", 1, "Sent"},
		{"lookup, cut", false, true, "cut", 1, "Sent"},
		{"lookup, dropped", false, true, "dropped", 0, "not known"},
		{"neither, done", false, false, "cut", 1, "not known"},
		{"neither, dropped", false, false, "dropped", 0, "not known"},
	} {
		r := newReceiver(t, c.idempotent, strings.Fields(c.faults)...)
		j := newJob(t, "# T\n\nText.")
		got := j.call(r.tool(c.lookup), `{}`)
		if took, _ := r.counts(); took != c.took || !strings.Contains(got.Text, c.want) {
			t.Errorf("%s: taken %d times, want %d; %s", c.name, took, c.took, got.Text)
		}
		if failed := c.want != "Sent"; got.Failed != failed {
			t.Errorf("%s: failed is %v", c.name, got.Failed)
		}
		if noted := c.want == "not known"; noted != (len(j.notes) == 1) {
			t.Errorf("%s: notes %q", c.name, j.notes)
		}
	}
}

// The address of the webhook is never that of the post; the receiver may answer with it.
func TestWebhookAddress(t *testing.T) {
	for answer, want := range map[string]string{
		"":                                     "",
		"ok":                                   "",
		`{"url":"/posts/t"}`:                   "",
		`{"url":"javascript:alert(1)"}`:        "",
		`{"id":7,"url":"https://x.example/t"}`: "https://x.example/t",
		`{"url":"OWN/posts"}`:                  "",
		`{"url":"OWN/posts/?x=1#top"}`:         "",
		`{"url":"OWN//posts"}`:                 "",
		`{"url":"OWN/posts/t"}`:                "OWN/posts/t",
	} {
		r := newReceiver(t, true)
		answer, want = strings.ReplaceAll(answer, "OWN", r.URL), strings.ReplaceAll(want, "OWN", r.URL)
		r.answer, r.date, r.description = answer, "2026-12-01T09:00:00+01:00", "Two words"
		j := newJob(t, "# T\n\nText.")
		got := j.call(r.tool(false), `{"date":"2026-12-01T09:00:00+01:00","description":"Two\n words"}`)
		var p published
		if err := json.Unmarshal(got.Artifacts["published"], &p); err != nil || p.URL != want || p.At != "" || want == "" && strings.Contains(got.Text, r.URL) || !strings.Contains(got.Text, want) {
			t.Errorf("%q: %s %+v %v", answer, got.Text, p, err)
		}
		if got := j.call(r.tool(false), `{"date":"soon"}`); !got.Failed || !strings.Contains(got.Text, "date") {
			t.Error(got.Text)
		}
	}
}

// TestWebhookSecretAddress: no result and no note has the path or query of a webhook, wherever an
// error or an answer repeats them.
func TestWebhookSecretAddress(t *testing.T) {
	for own, answers := range map[string]map[string]bool{ // the answers that are the webhook's own address
		"https://h.example/hooks/T0/Zebra9": {"https://H.example:443/hooks/T0/Zebra9": true, "http://h.example/hooks/T0/Zebra9?wait=true": true, "https://h.example/p/t": false, "https://h.example/hooks/T0/x/../Zebra9": true},
		"https://h.example/?key=Zebra9":     {"https://h.example/?key=Zebra9&p=4": true, "https://h.example": true, "https://h.example/?p=4": false},
		"https://h.example":                 {"https://h.example/": true, "https://h.example/?p=4": false, "https://h.example/p": false},
	} {
		for answer, want := range answers {
			if w := (Webhook{URL: own}); w.leads(answer) != want {
				t.Errorf("webhook %s, answer %s: its own is %v", own, answer, !want)
			}
		}
	}
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "Cannot "+r.Method+" "+r.RequestURI, http.StatusNotFound)
	}))
	defer refuses.Close()
	gone := httptest.NewServer(nil)
	gone.Close()
	drops := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer drops.Close()
	for name, at := range map[string]string{"refused": refuses.URL, "no connection": gone.URL, "dropped": drops.URL} {
		for _, lookup := range []string{"", at + "/Zebra9/seen?key={key}"} {
			w := Webhook{URL: at + "/hooks/Zebra9?token=Zebra9", SecretEnv: "HOOK", Lookup: lookup}
			j := newJob(t, "# T\n\nText.")
			got := j.call(tool(t, Config{Webhooks: map[string]Webhook{"site": w}}, "publish_webhook"), `{}`)
			if all := fmt.Sprint(got, j.notes); !got.Failed || strings.Contains(all, "Zebra9") {
				t.Errorf("%s, lookup %q: %s", name, lookup, all)
			}
		}
	}
}

func TestWebhookKilled(t *testing.T) {
	for _, lookup := range []bool{false, true} {
		for at := 1; at <= 3; at++ {
			r := newReceiver(t, !lookup)
			j := newJob(t, "# T\n\nText.")
			j.dying(r.tool(lookup), `{}`, at)
			got := j.call(r.tool(lookup), `{}`)
			if took, _ := r.counts(); got.Failed || took != 1 {
				t.Errorf("lookup %v, died at %d: taken %d times; %s", lookup, at, took, got.Text)
			}
		}
	}
}

func TestWebhookMisuse(t *testing.T) {
	r := newReceiver(t, true)
	j := newJob(t, "# T\n\nText.")
	if got := j.call(r.tool(false), `{"to":"elsewhere"}`); !got.Failed || !strings.Contains(got.Text, "site") {
		t.Error(got.Text)
	}
	for _, secret := range []string{"", "whsec_!"} {
		c := Config{Webhooks: map[string]Webhook{"site": {URL: r.URL, SecretEnv: "HOOK", Idempotent: true}}, Getenv: func(string) string { return secret }}
		if got := j.call(tool(t, c, "publish_webhook"), `{}`); !got.Failed || !strings.Contains(got.Text, "HOOK") {
			t.Errorf("%q: %s", secret, got.Text)
		}
	}
	if _, asked := r.counts(); asked != 0 {
		t.Error("something was sent")
	}
	// No connection: surely nothing happened.
	r.Close()
	if got := j.call(r.tool(false), `{}`); !got.Failed || strings.Contains(got.Text, "not known") || len(j.notes) > 0 {
		t.Errorf("no connection: %s", got.Text)
	}
}
