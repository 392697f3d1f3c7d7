package github

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/git"
	"github.com/adroit-run/adroit/internal/system/hostexec"
	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/internal/text/spelling"
	"github.com/adroit-run/adroit/internal/work/process"
	"github.com/adroit-run/adroit/pkg/tools"
)

const (
	limit   = 5 * time.Minute // of one call of a tool
	request = time.Minute     // of one request
	maxBody = 8 << 20         // bytes of one answer
	pages   = 10              // of a list, of 100 entries each
)

// An api is the API of one repository, for one call of a tool.
type api struct {
	Config
	env   *tools.Env
	token string
	repo  string // owner/name
}

var repoName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9-]{0,99}/[A-Za-z0-9._-]{1,100}$`)

// open finds the token and the repository.
func (c Config) open(ctx context.Context, env *tools.Env, repo string) (*api, error) {
	a := &api{Config: c, env: env, repo: repo}
	if c.TokenEnv == "" {
		return nil, &userError{"no token for GitHub is configured", " to set github.token_env"}
	}
	if a.token = c.Getenv(c.TokenEnv); a.token == "" {
		return nil, &userError{c.TokenEnv + ", the token for GitHub, is not set", ""}
	}
	if repo == "" {
		r, err := git.New(env.Exec).Remote(ctx, "origin")
		switch {
		case errors.Is(err, git.ErrNoRemote):
			return nil, errors.New("the workspace's repository has no remote origin: give repo, as owner/name")
		case err != nil:
			return nil, fmt.Errorf("give repo, as owner/name; the workspace does not tell: %w", err)
		case r.Host != c.Host && r.Host != "ssh."+c.Host:
			return nil, fmt.Errorf("the workspace's repository is on %s, not on %s: give repo, as owner/name", r.Host, c.Host)
		}
		a.repo = r.Path
	}
	if !repoName.MatchString(a.repo) {
		return nil, fmt.Errorf("repo is %q; it is owner/name", a.repo)
	}
	return a, nil
}

// An apiError is an answer that is not what was asked for.
type apiError struct {
	Status  int // 0 if there was no answer
	Message string
	User    bool // only the user can help
}

func (e *apiError) Error() string {
	if e.User {
		return (&userError{e.Message, ""}).Error()
	}
	return e.Message
}

// Summary is the error without the words that are for a model.
func (e *apiError) Summary() string { return e.Message }

// Value returns the error's data for programs.
func (e *apiError) Value() json.RawMessage {
	if e.Status != http.StatusNotFound {
		return nil
	}
	return json.RawMessage(`{"not_found":true}`)
}

// A noPullError reports that a branch has no pull request.
type noPullError struct{ error }

func (*noPullError) Value() json.RawMessage { return json.RawMessage(`{"no_pull_request":true}`) }

// A userError is an error that only the user can resolve.
type userError struct{ what, do string }

// Error is for a model, and Summary for the user.
func (e *userError) Error() string   { return e.what + ". Tell the user" + e.do }
func (e *userError) Summary() string { return e.what }

// outcomeUnknown reports whether a failed request may have had its effect.
func outcomeUnknown(err error) bool {
	e := new(apiError)
	return errors.As(err, &e) && (e.Status == 0 || e.Status >= 500)
}

// get reads path of the repository into v, with a query if it is not nil.
func (a *api) get(ctx context.Context, path string, query url.Values, v any) error {
	b, err := a.ask(ctx, http.MethodGet, a.at(path, query), "", nil)
	if err != nil {
		return err
	}
	return decode(b, v)
}

// post sends in to path of the repository and reads the answer into v.
func (a *api) post(ctx context.Context, path string, in, v any) error {
	raw, err := json.Marshal(in)
	if err != nil {
		return tools.Fatal(err)
	}
	b, err := a.ask(ctx, http.MethodPost, a.at(path, nil), "", raw)
	if err != nil {
		return err
	}
	return decode(b, v)
}

// list reads all pages of path, as far as there are not too many.
func list[T any](ctx context.Context, a *api, path string) (all []T, err error) {
	for page := 1; page <= pages; page++ {
		var some []T
		if err := a.get(ctx, path, url.Values{"per_page": {"100"}, "page": {strconv.Itoa(page)}}, &some); err != nil {
			return nil, err
		}
		if all = append(all, some...); len(some) < 100 {
			break
		}
	}
	return all, nil
}

func (a *api) at(path string, query url.Values) string {
	at := strings.TrimSuffix("repos/"+a.repo+"/"+path, "/")
	if len(query) > 0 {
		at += "?" + query.Encode()
	}
	return at
}

func decode(b []byte, v any) error {
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("GitHub's answer cannot be read: %w", err)
	}
	return nil
}

// proxies are the variables by which gh finds a proxy.
var proxies = []string{"HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy"}

// ask has gh make one request. The error of an answer that is none is an
// *apiError in words for the model.
func (a *api) ask(ctx context.Context, method, path, accept string, body []byte) ([]byte, error) {
	accept = cmp.Or(accept, "application/vnd.github+json")
	gh, err := hostexec.Find("gh") // it gets the token and the network: none that a job may have written
	if err != nil {
		return nil, fmt.Errorf("gh, GitHub's program, is not installed here: it is %s. Tell the user; docs/github.md says how", hostexec.Lacking(err))
	}
	args := []string{gh, "api", "--include", "--hostname", a.Host, "--method", method,
		"--header", "Accept: " + accept, "--header", "X-GitHub-Api-Version: 2022-11-28", path}
	if body != nil {
		args = append(args, "--input", "-")
	}
	env := []string{"GH_TOKEN=" + a.token, "GH_ENTERPRISE_TOKEN=" + a.token, "GH_HOST=" + a.Host, "GH_CONFIG_DIR=/nonexistent",
		"GH_PROMPT_DISABLED=1", "GH_NO_UPDATE_NOTIFIER=1", "GH_NO_EXTENSION_UPDATE_NOTIFIER=1", "DO_NOT_TRACK=1"}
	for _, name := range proxies {
		if v := a.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	var out capped
	res, err := a.env.Exec.Run(ctx, process.Cmd{Args: args, Env: env, Stdin: body, Stdout: &out, Net: true, Timeout: request})
	if ctx.Err() != nil {
		return nil, err
	}
	if err != nil || res.Code == 127 {
		return nil, &userError{"gh, GitHub's program, is not installed here, or not where commands can see it", "; docs/github.md says how"}
	}
	status, header, answer, ok := split(out.b.Bytes())
	said := strings.TrimSpace(strings.ReplaceAll(res.Text, a.token, "***"))
	switch {
	case out.cut:
		return nil, fmt.Errorf("GitHub's answer has more than %d MiB: ask for less", maxBody>>20)
	case res.TimedOut:
		return nil, &apiError{Status: 0, Message: fmt.Sprintf("GitHub did not answer within %s", request)}
	case res.Code == 4:
		return nil, &userError{"gh is not logged in: " + spelling.FirstLine(said), " to look at " + a.TokenEnv}
	case !ok:
		return nil, &apiError{Status: 0, Message: "gh could not ask GitHub: " + spelling.FirstLine(said)}
	case status >= 300 || res.Code != 0:
		return nil, a.explain(status, header, answer, path)
	}
	return answer, nil
}

// split takes apart what gh prints of an answer.
func split(b []byte) (status int, h http.Header, body []byte, ok bool) {
	r := bufio.NewReader(bytes.NewReader(b))
	line, err := r.ReadString('\n')
	f := strings.Fields(line)
	if err != nil || len(f) < 2 || !strings.HasPrefix(f[0], "HTTP/") {
		return 0, nil, nil, false
	}
	if status, err = strconv.Atoi(f[1]); err != nil {
		return 0, nil, nil, false
	}
	mime, err := textproto.NewReader(r).ReadMIMEHeader()
	if err != nil {
		return 0, nil, nil, false
	}
	body, err = io.ReadAll(r)
	return status, http.Header(mime), body, err == nil
}

// explain reports what an answer that is an error means.
func (a *api) explain(status int, h http.Header, body []byte, path string) error {
	var said struct {
		Message string
		Errors  []json.RawMessage
	}
	_ = json.Unmarshal(body, &said) // a proxy's page is none
	why := said.Message
	for _, raw := range said.Errors {
		var e struct{ Message, Resource, Field, Code string }
		var plain string
		switch {
		case json.Unmarshal(raw, &plain) == nil:
			why += "; " + plain
		case json.Unmarshal(raw, &e) == nil && e.Message != "":
			why += "; " + e.Message
		case e.Code != "":
			why += fmt.Sprintf("; %s of %s: %s", e.Field, e.Resource, e.Code)
		}
	}
	why = rootfs.Visible(spelling.FirstLine(why))
	e := &apiError{Status: status}
	switch {
	case status == http.StatusTooManyRequests, status == http.StatusForbidden && (h.Get("X-Ratelimit-Remaining") == "0" || h.Get("Retry-After") != "" || strings.Contains(why, "rate limit")):
		e.Status, e.Message = http.StatusTooManyRequests, "GitHub's rate limit is reached"+again(h)+": go on without GitHub, or stop and say so"
	case status == http.StatusUnauthorized:
		e.Message = fmt.Sprintf("GitHub refuses the token in %s (%s)", a.TokenEnv, why)
		e.User = true
	case status == http.StatusForbidden:
		e.Message = fmt.Sprintf("the token in %s may not do this in %s (%s)", a.TokenEnv, a.repo, why)
		e.User = true
	case status == http.StatusNotFound:
		path, _, _ = strings.Cut(path, "?")
		e.Message = fmt.Sprintf("there is no %s, or the token may not see it", path)
	case status == http.StatusUnprocessableEntity:
		e.Message = "GitHub refuses it: " + why
	default:
		e.Message = fmt.Sprintf("GitHub answers %d %s: %s", status, http.StatusText(status), why)
	}
	return e
}

// again renders the end of a rate limit, "" if GitHub does not state it.
func again(h http.Header) string {
	if s, err := strconv.Atoi(h.Get("Retry-After")); err == nil {
		return fmt.Sprintf(" for %s", time.Duration(s)*time.Second)
	}
	if s, err := strconv.ParseInt(h.Get("X-Ratelimit-Reset"), 10, 64); err == nil {
		return " until " + time.Unix(s, 0).UTC().Format("15:04 UTC")
	}
	return ""
}

// capped keeps the first maxBody bytes. The buffer is no embedded one: its
// ReadFrom would be used instead of Write.
type capped struct {
	b   bytes.Buffer
	cut bool
}

func (c *capped) Write(b []byte) (int, error) {
	room := maxBody - c.b.Len()
	c.cut = c.cut || len(b) > room
	c.b.Write(b[:max(0, min(room, len(b)))])
	return len(b), nil
}
