package publish

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adroit-run/adroit/pkg/parts/internal/shared/site"
	"github.com/adroit-run/adroit/pkg/tools"
)

// A Webhook is an address that takes posts as JSON: title, markdown, slug, date,
// description, tags, key. If it answers with JSON that has a url, that is the address
// of the post. The request is signed in the manner of Standard Webhooks:
// webhook-id, webhook-timestamp and webhook-signature, an HMAC-SHA256 with the
// secret of id, timestamp and body joined by dots.
type Webhook struct {
	URL       string `yaml:"url" show:"host"` // the path may be a secret
	SecretEnv string `yaml:"secret_env"`      // variable with the secret; whsec_… is base64, anything else its bytes
	// Idempotent means that the receiver does nothing twice for the same
	// Idempotency-Key: only then is a request repeated.
	Idempotent bool `yaml:"idempotent"`
	// Lookup is an address that answers 200 if a key was received and 404 if
	// not; {key} in it is replaced. It serves receivers that are not
	// idempotent.
	Lookup string `yaml:"lookup" show:"host"`
}

func (w Webhook) check() (key string, err error) {
	u, err := url.Parse(w.URL)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return "url", fmt.Errorf("is %q; it is an address such as https://example.com/posts", w.URL)
	}
	if w.SecretEnv == "" {
		return "secret_env", errors.New("is missing; it names the variable with the secret that requests are signed with")
	}
	if w.Lookup != "" && !strings.Contains(w.Lookup, "{key}") {
		return "lookup", fmt.Errorf("is %q; it has {key} where the key goes", w.Lookup)
	}
	return "", nil
}

// webhookInput is the input of publish_webhook.
type webhookInput struct {
	To   string   `json:"to,omitempty" jsonschema:"description=Its name; not needed if there is one"`
	From string   `json:"from,omitempty" jsonschema:"description=Markdown file; default: the content"`
	Slug string   `json:"slug,omitempty" jsonschema:"description=Default: made of the title"`
	Tags []string `json:"tags,omitempty" jsonschema:"description=Tags"`
	// The key of a call that leaves these out is the one that it had without them.
	Date        string `json:"date,omitempty" jsonschema:"description=2026-11-21 or with a time as 2026-11-21T09:00:00+01:00; default: today"`
	Description string `json:"description,omitempty" jsonschema:"description=For previews"`
}

func (c Config) webhook() tools.Tool {
	m := tools.Metadata{
		Name: "publish_webhook", Category: "publish", Needs: tools.Read | tools.Net | tools.Publish, Effect: tools.Idempotent,
		Optionality: tools.Conditional, When: "the user wants the post sent to a webhook",
		Uses: []string{"content"}, Produces: []string{"published"}, Timeout: 5 * time.Minute,
		Examples: []tools.Example{{Note: "the only one there is", Args: json.RawMessage(`{"tags":["durability"]}`)}},
	}.ProseIn(descriptions)
	if len(c.Webhooks) == 0 {
		m.Requires = []string{"config:publish.webhooks"}
	}
	for _, w := range c.Webhooks {
		if !w.Idempotent && w.Lookup == "" {
			m.Effect = tools.Unsafe // nobody could tell whether an interrupted call had happened
		}
	}
	t := tools.New(m, c.call)
	t.Touches, t.Before = touches, before
	return t
}

// touches is the file that a call reads.
func touches(args json.RawMessage) []string {
	var in struct{ From string }
	if json.Unmarshal(args, &in) != nil || in.From == "" {
		return nil
	}
	return []string{in.From}
}

func (c Config) call(ctx context.Context, env *tools.Env, in webhookInput) (tools.Result, error) {
	name := in.To
	names := sorted(c.Webhooks)
	if name == "" && len(names) == 1 {
		name = names[0]
	}
	w, ok := c.Webhooks[name]
	if !ok {
		return tools.Result{}, fmt.Errorf("to is %q; the webhooks are: %s", in.To, strings.Join(names, ", "))
	}
	secret, err := signingKey(c.Getenv(w.SecretEnv))
	if err != nil {
		return tools.Result{}, fmt.Errorf("%s, the secret of webhook %s, %w. Tell the user", w.SecretEnv, name, err)
	}
	p, err := from(env, in.From, "")
	if err != nil {
		return tools.Result{}, err
	}
	k, body, err := c.payload(env, name, p, in)
	if err != nil {
		return tools.Result{}, err
	}
	cl := &client{http: env.HTTP, wait: c.Wait, repeat: w.Idempotent, hide: w.secrets(c.Getenv, k)}
	done := published{Target: "webhook " + name, Title: p.Title, Key: k}
	if there, err := w.received(ctx, cl, k); err != nil {
		return tools.Result{}, fmt.Errorf("asking %s whether it has the post already: %w", name, err)
	} else if there {
		done.Before = true
		return done.result(fmt.Sprintf("%s has this post already; nothing was sent.", name))
	}
	got, err := cl.do(ctx, func(ctx context.Context) (*http.Request, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL, bytes.NewReader(body))
		if err != nil {
			return nil, err
		}
		at := strconv.FormatInt(c.Now().Unix(), 10)
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("webhook-id", k)
		req.Header.Set("webhook-timestamp", at)
		req.Header.Set("webhook-signature", sign(secret, k, at, body))
		if w.Idempotent {
			// Only then: net/http itself repeats requests that have this header.
			req.Header.Set("Idempotency-Key", k)
		}
		return req, nil
	})
	if u := new(unsure); errors.As(err, &u) {
		if there := w.Lookup != "" && c.confirmed(ctx, func() (bool, error) { return w.received(ctx, cl, k) }); !there {
			return unknown(env, "publish_webhook", "webhook "+name, k, u), nil
		}
	} else if err != nil {
		return tools.Result{}, fmt.Errorf("webhook %s did not take it: %w", name, err)
	}
	at := "It has not answered where readers find it"
	if got != nil {
		if done.URL = addressIn(got.body); w.leads(done.URL) {
			done.URL = ""
		}
		if done.URL != "" {
			at = "Its address is " + done.URL
		}
	}
	return done.result(fmt.Sprintf("Sent %q to %s. %s.", p.Title, name, at))
}

// payload returns the body that a webhook is sent, and its idempotency key.
func (c Config) payload(env *tools.Env, name string, p post, in webhookInput) (k string, body []byte, err error) {
	if in.Slug == "" {
		in.Slug = site.Slugify(p.Title)
	}
	tags := slices.Clone(in.Tags)
	what := []any{name, p, in.Slug, tags}
	if in.Date != "" || in.Description != "" {
		what = append(what, in.Date, in.Description)
	}
	if k, err = key(env, what...); err != nil {
		return "", nil, err
	}
	date := c.Now().Format(time.DateOnly)
	if in.Date != "" {
		if _, err := site.ParseDate(in.Date); err != nil {
			return "", nil, fmt.Errorf("date: %w", err)
		}
		date = string(site.NewDate(in.Date))
	}
	body, err = json.Marshal(struct {
		Key         string   `json:"key"`
		Title       string   `json:"title"`
		Slug        string   `json:"slug"`
		Date        string   `json:"date"`
		Description string   `json:"description"`
		Markdown    string   `json:"markdown"`
		Tags        []string `json:"tags"`
	}{k, p.Title, in.Slug, date, oneLine(in.Description), p.Text, append([]string{}, tags...)})
	if err != nil {
		return "", nil, tools.Fatal(err)
	}
	return k, body, nil
}

// addressIn is the address of the post that an answer has, "" if none.
func addressIn(body []byte) string {
	var got struct{ URL string }
	if json.Unmarshal(body, &got) != nil || len(got.URL) > 2000 {
		return ""
	}
	u, err := url.Parse(got.URL)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return ""
	}
	return u.String()
}

// leads reports whether an address is the webhook's own or that of its lookup, which services return
// that describe the request: its path or query may be a secret, and no reader finds the post there.
func (w Webhook) leads(at string) bool {
	got, err := url.Parse(at)
	if err != nil {
		return true
	}
	for _, own := range []string{w.URL, w.Lookup} {
		u, err := url.Parse(own)
		if own == "" || err != nil || place(u) != place(got) {
			continue
		}
		if u.Path != "" && u.Path != "/" { // else the query alone may be what names the post
			return true
		}
		theirs := got.Query()
		differs := func(name string) bool { return theirs.Get(name) != u.Query().Get(name) }
		if got.RawQuery == "" || u.RawQuery != "" && !slices.ContainsFunc(slices.Sorted(maps.Keys(u.Query())), differs) {
			return true
		}
	}
	return false
}

// place is the host and path of an address, without differences of spelling.
func place(u *url.URL) string {
	port := u.Port()
	if port == "80" && u.Scheme == "http" || port == "443" && u.Scheme == "https" {
		port = ""
	}
	return strings.ToLower(u.Hostname()) + ":" + port + path.Clean("/"+u.Path)
}

// secrets returns what no error may show: the signing secret, and the addresses with their paths
// and queries.
func (w Webhook) secrets(getenv func(string) string, key string) []string {
	out := []string{getenv(w.SecretEnv)}
	for _, own := range []string{w.URL, strings.ReplaceAll(w.Lookup, "{key}", url.QueryEscape(key))} {
		if u, err := url.Parse(own); err == nil && own != "" {
			out = append(out, own, u.String(), u.RequestURI(), u.EscapedPath(), u.Path, u.RawQuery)
		}
	}
	// An address is replaced before its path is, and a path of one letter is none.
	out = slices.DeleteFunc(out, func(s string) bool { return len(s) < 2 })
	slices.SortFunc(out, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.Compact(out)
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// confirmed reports whether an effect in doubt turns out to have occurred, after a few
// looks.
func (c Config) confirmed(ctx context.Context, look func() (bool, error)) bool {
	for i := range 3 {
		if c.Wait(ctx, time.Second<<i) != nil {
			return false
		}
		if there, err := look(); err == nil && there {
			return true
		}
	}
	return false
}

// received asks the receiver whether it has a key; false where it cannot be
// asked.
func (w Webhook) received(ctx context.Context, cl *client, key string) (bool, error) {
	if w.Lookup == "" {
		return false, nil
	}
	_, err := cl.do(ctx, func(ctx context.Context) (*http.Request, error) {
		return http.NewRequestWithContext(ctx, http.MethodGet, strings.ReplaceAll(w.Lookup, "{key}", url.QueryEscape(key)), nil)
	})
	if r := new(refusal); errors.As(err, &r) && r.status == http.StatusNotFound {
		return false, nil
	}
	return err == nil, err
}

// signingKey decodes a secret.
func signingKey(secret string) ([]byte, error) {
	if secret == "" {
		return nil, errors.New("is not set")
	}
	enc, ok := strings.CutPrefix(secret, "whsec_")
	if !ok {
		return []byte(secret), nil
	}
	b, err := base64.StdEncoding.DecodeString(enc)
	if err != nil {
		return nil, errors.New("begins with whsec_ but does not go on in base64")
	}
	return b, nil
}

func sign(secret []byte, id, at string, body []byte) string {
	h := hmac.New(sha256.New, secret)
	fmt.Fprintf(h, "%s.%s.", id, at)
	h.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(h.Sum(nil))
}
