package cliagent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/adroit-run/adroit/internal/calling/extagent"
	"github.com/adroit-run/adroit/internal/calling/transport"
	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/pkg/llm"
)

// A lostSession is the error of a program that does not know the session it was
// to go on with.
type lostSession struct{ err error }

func (e *lostSession) Error() string { return e.err.Error() }
func (e *lostSession) Unwrap() error { return e.err }

// answer turns a program's output and how it ended into a response or an error.
func (r *opened) answer(s *run, e ending, model string) (*llm.Response, error) {
	name := "cli/" + r.Name
	fail := func(f fault) error {
		le := &llm.Error{Kind: f.kind, Provider: name, Status: f.status, Message: f.message, Hint: f.hint, RetryAfter: f.after, Acted: s.acted}
		if s.acted {
			le.Message += fmt.Sprintf(" (after it had begun to work: %d calls, %d files by its own account)", s.calls, s.changed)
		}
		if f.lost && !s.acted {
			return &lostSession{le}
		}
		return le
	}
	switch {
	case e.flooded:
		return nil, fail(fault{kind: llm.Garbled, message: fmt.Sprintf("it wrote more than %d MB and was ended", r.most()>>20)})
	case s.ended && s.fault != nil:
		return nil, fail(*s.fault)
	case s.ended, s.stopped != "":
	case e.idle:
		return nil, fail(fault{kind: llm.Timeout, message: "it gave no sign of life for " + mergeLimits(r.at.Limits, r.Limits).Idle.String() + " and was ended"})
	case e.timedOut && s.session == "" && !s.acted:
		return nil, fail(fault{kind: llm.Timeout, message: "it did nothing in the time that it had, and was ended"})
	case e.timedOut:
		s.stopped = "time"
	default:
		words := fmt.Sprintf("it ended with code %d and without saying how it went", e.code)
		if last := lastLine(e.stderr); last != "" {
			words += ": " + last
		}
		return nil, fail(fault{kind: extagent.NoResult, message: words})
	}
	u := s.usage
	if u == (llm.Usage{}) {
		u = s.interim
	}
	u = llm.Usage{In: max(0, u.In), Out: max(0, u.Out), Cached: max(0, u.Cached)}
	work := &llm.Work{Session: s.session, Program: s.program, Turns: max(s.turns, 1), Calls: s.calls, Denied: s.denied, CostUSD: s.cost, Changed: s.changed, Refused: s.refused, Stopped: s.stopped}
	resp := &llm.Response{Usage: u, Stop: llm.StopEnd, Model: model, Work: work,
		Message: llm.Message{Role: llm.Assistant, Text: s.answer()}}
	if s.stopped != "" {
		resp.Stop = extagent.StopLimit
		resp.Notes = append(resp.Notes, name+" was ended: it passed the bound of "+s.stopped)
	}
	if s.denied > 0 {
		resp.Notes = append(resp.Notes, fmt.Sprintf("%s was denied %d of its calls", name, s.denied))
	}
	if s.session != "" {
		v, err := json.Marshal(session{ID: s.session, Total: s.total})
		if err != nil {
			return nil, err
		}
		resp.Message.State = &llm.ProviderState{Dialect: name, Field: "session", Value: v}
	}
	return resp, nil
}

// lastLine is the last line of what a program wrote on its standard error that
// says something.
func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		if l := strings.TrimSpace(lines[i]); l != "" {
			return brief(l, maxText)
		}
	}
	return ""
}

var (
	statusWords = lazyregexp.New(`(?i)(?:\bstatus|\bhttp|\bAPI error:?|\bcode"?:?)\s*"?:?\s*([45]\d\d)\b`)
	causes      = []struct {
		kind llm.ErrorKind
		is   *lazyregexp.Regexp
	}{
		{llm.TooLong, lazyregexp.New(`(?i)prompt is too long|prompt_too_long|context.?(length|window)|maximum context|too many tokens|input token count`)},
		{llm.RateLimit, lazyregexp.New(`(?i)rate.?limit|too many requests|quota|resource_exhausted|usage limit|hit your limit|limit reached`)},
		{llm.Auth, lazyregexp.New(`(?i)unauthori[sz]ed|unauthenticated|authenticat|invalid.{0,10}api key|api key not|not logged in|please (log|sign) in|auth method|login required|permission_denied|/login\b|token (?:was )?(?:revoked|expired)|sign in again|credit balance|insufficient balance|organi[sz]ation has been disabled|IneligibleTier`)},
		{llm.NoModel, lazyregexp.New(`(?i)model.{0,80}(not (found|exist|supported|available)|does not exist|unknown)|unknown model|(ProviderModelNotFound|ModelNotFound)`)},
		{llm.Overloaded, lazyregexp.New(`(?i)overloaded|internal server error|bad gateway|service unavailable|high demand|server error|at capacity`)},
		{llm.Unreachable, lazyregexp.New(`(?i)connection refused|econnrefused|enotfound|network|fetch failed|error sending request|unable to connect|connection error|EAI_AGAIN|certificate|_CERT_|dns`)},
		{llm.Cut, lazyregexp.New(`(?i)stream (disconnected|closed|ended)|unexpected end|connection (reset|closed)|econnreset|socket hang up`)},
		{llm.Timeout, lazyregexp.New(`(?i)timed out|timeout`)},
	}
)

// blame finds the kind of a failure in a program's words.
func blame(words string) *fault {
	f := &fault{kind: extagent.NoResult, message: brief(strings.Join(strings.Fields(words), " "), 500)}
	f.message = cmp.Or(f.message, "it failed and did not say why")
	if m := statusWords.FindStringSubmatch(words); m != nil {
		f.status, _ = strconv.Atoi(m[1]) // the expression lets only digits through
	}
	return f.judge()
}

// judge finds the kind of a failure by its status, then by its words.
func (f *fault) judge() *fault {
	for _, c := range causes {
		if c.is.MatchString(f.message) {
			f.kind = c.kind
			break
		}
	}
	if f.kind == extagent.NoResult { // in the words of the server that it asked
		f.kind = cmp.Or(transport.Kind(f.message), extagent.NoResult)
	}
	if k, ok := byStatus(f.status); ok && !(k == llm.BadRequest && f.kind != extagent.NoResult) {
		f.kind = k
	}
	if f.kind == llm.Auth {
		f.hint = cmp.Or(f.hint, "log in with the program itself, or name the variable that holds its key under cli: in the configuration")
	}
	return f
}

func byStatus(n int) (llm.ErrorKind, bool) {
	switch {
	case n == 401 || n == 403:
		return llm.Auth, true
	case n == 404:
		return llm.NoModel, true
	case n == 429:
		return llm.RateLimit, true
	case n >= 500:
		return llm.Overloaded, true
	case n >= 400:
		return llm.BadRequest, true
	}
	return "", false
}
