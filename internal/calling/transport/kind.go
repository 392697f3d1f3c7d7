package transport

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/adroit-run/adroit/internal/text/lazyregexp"
	"github.com/adroit-run/adroit/pkg/llm"
)

// classify returns the kind of an error by its status, its text and the time after which it asks
// to come again, "" if unknown, and the cause of a refusal other than the key. Codes and phrases
// of providers decide first, then sentences: a subject such as a model, an account or its credit,
// and what is the matter with it, in whatever order and words. testdata/refusals.jsonl lists real
// errors with their kinds.
func classify(status int, text string, wait time.Duration) (llm.ErrorKind, Denial) {
	said := reason(plainWords.Replace(strings.ToLower(text)))
	d := said.denial(status)
	if d != content && (status == 0 || status/100 == 4 || status == 500) && said.spent(status, wait) {
		return llm.Auth, Spent
	}
	if d != "" {
		return llm.Auth, d
	}
	return said.kind(status), ""
}

// Kind returns the kind of an error in a server's words without its status, or "".
func Kind(text string) llm.ErrorKind {
	kind, _ := classify(0, text, 0)
	return kind
}

// plainWords writes words out that the rules know in one form only.
var plainWords = strings.NewReplacer("isn't", "is not", "isn’t", "is not", "aren't", "are not", "wasn't", "was not", "doesn't", "does not", "doesn’t", "does not",
	"don't", "do not", "don’t", "do not", "can't", "cannot", "haven't", "have not", "hasn't", "has not")

// kind classifies an error that is not a denial.
func (w reason) kind(status int) llm.ErrorKind {
	client := status == 0 || status/100 == 4 || status == 500
	switch {
	case status == 401 || status == 403:
		return llm.Auth
	case status == 407:
		return llm.Unreachable
	case status == 408:
		return llm.Timeout
	case status == 413, status == 429 && (w.tooLargeForLimit() || statedWindow.MatchString(string(w))), (client || status == 502) && status != 429 && w.overflow():
		return llm.TooLong
	case status == 429, status == 400 && w.has("too_many_requests", "rate_limit_exceeded", "rate limit reached", "rate limit exceeded"):
		return llm.RateLimit
	case client && (w.has("invalid api key", "incorrect api key", "api_key_invalid", "invalid_api_key", "invalidapikey") || w.inSentence(keys, unusable)):
		return llm.Auth
	case client && w.has("does not support", "not supported by this model", "no endpoints found that support"):
		return llm.Unsupported
	case w.has("model_not_found", "modelnotfound", "deploymentnotfound"), // whatever the status: there is none in any of a gateway's servers
		client && w.has("model not found", "no such model", "unknown model", "not a valid model", "invalid model", "llm provider not provided", "model not exist", "model_decommissioned", "model_not_supported", "model_not_available", "no endpoints found", "模型不存在", "not found for account"),
		client && status != 500 && (w.inSentence(ofModel, missing) || w.inSentence(ofModel, notModel) || status == 404 && namesModel.MatchString(string(w))):
		return llm.NoModel
	// Some answer 500 to these mistakes of the client: templates are run by the server.
	case status == 500 && w.has("invalid json schema", "invalid format", "invalid option", "must be of type", "jinja template", "jinja exception", "chat template", "alternate", "after role"):
		return llm.BadRequest
	case status == 501:
		return llm.Unsupported
	case status >= 500, status == 498, status == 499 && w.has("cancel"), status == 424: // what the server depends on failed, or it gave up
		return llm.Overloaded
	case status == 400 && (w.has("overloaded", "capacity") && w.has("again", "later") || w.has("degraded function") || w.inSentence(ofModel, fallen)):
		return llm.Overloaded
	case status >= 400:
		return llm.BadRequest
	case w.has("rate limit", "rate_limit", "too many requests"):
		return llm.RateLimit
	case w.has("authentication", "not authenticated", "unauthorized", "login fail"):
		return llm.Auth
	case w.has("overloaded", "server_error", "try again", "running the model"):
		return llm.Overloaded
	case w.has("invalid_request", "invalid request"):
		return llm.BadRequest
	}
	return ""
}

// The subjects of sentences, and what is the matter with them.
var (
	keys     = lazyregexp.New(`\b(?:x-)?api[ _-]?keys?\b|\b(?:access|auth\w*|bearer) tokens?\b|\bcredentials?\b`)
	unusable = lazyregexp.New(`\b(?:invalid|not valid|expired|revoked|incorrect|wrong|missing|malformed|not (?:provided|found|active)|leaked)\b`)

	ofModel = lazyregexp.New(`\b(?:models?|deployments?)\b`)
	missing = lazyregexp.New(`\b(?:not found|(?:do|does|did) not exist|not exist\.|decommissioned|no longer (?:available|supported)|(?:has been|was|is) deprecated|retired|end of (?:its )?life|unable to access|` +
		`not (?:available|deployed|loaded)|inaccessible|no (?:allowed )?(?:providers?|models?|channels?) (?:are |is )?(?:available|loaded)|no available channel|identifier is invalid|not a chat)\b`)
	fallen = lazyregexp.New(`\b(?:crashed|(?:has )?terminated|unloaded|(?:is|still|being|currently) (?:re)?load(?:ing|ed)|not ready)\b`)
	// notModel is a model that is not supported, not what a model does not support.
	notModel   = lazyregexp.New(`\bmodel\b.{0,160}\b(?:is|are|and thus|currently|was) not (?:currently )?supported\b`)
	namesModel = lazyregexp.New(`(?:^|\s)model: ?\S`) // Anthropic's whole text

	money = lazyregexp.New(`\b(?:balance|credits?|funds?|arrears|arrearage|wallet|overdue|prepaid|budget(?:_exceeded)?)\b`)
	gone  = lazyregexp.New(`\b(?:insufficient|not enough|not sufficient|exceeded|exhausted|used (?:up|all)|all used|reached|depleted|overdue|negative|expired|too low|empty|r[au]n out|out of|no (?:more|remaining|available)|` +
		`not have|requires more|zero|below|lack)\b`)
	bill    = lazyregexp.New(`\b(?:billing|payments?|invoices?)\b`)
	unpaid  = lazyregexp.New(`\b(?:not active|inactive|not_active|disabled|requires|required|enabled|overdue|past due|fail(?:ed|ure)|declined|suspended|hard limit|unpaid)\b`)
	allowed = lazyregexp.New(`\b(?:quotas?|allowance|allocation|usage|purchase|billing|free tier|key limit|spend limit|limited to)\b`)
	usedUp  = lazyregexp.New(`\b(?:exceeded|exhausted|used up|reached|purchase|limited to)\b`)
	period  = lazyregexp.New(`\b(?:daily|weekly|monthly|yearly|billing cycle|key limit|spend limit)\b|(?:\bper |/ ?)(?:day|week|month|year)\b`)
	soon    = lazyregexp.New(`\b(?:check quota|minute|perminute|per second|rpm|tpm|rps|hourly|try again|concurren\w*|throttl\w*)\b|/ ?(?:minute|second|hour)\b`)
	// thinks has a budget of tokens, not of money.
	thinks = lazyregexp.New(`think|reason|token`)

	account = lazyregexp.New(`\b(?:organi[sz]ation|account|project|workspace|team)\b`)
	barred  = lazyregexp.New(`\b(?:disabled|restricted|deactivated|banned|terminated|locked|closed)\b`)
)

// inSentence reports whether one sentence has both a subject and what is the matter with it, in
// any order, and is not about a part of the request, which may have words of any kind in it.
func (w reason) inSentence(subject, matter *lazyregexp.Regexp) bool {
	for _, s := range sentences.Regexp().Split(string(w), 40) {
		if subject.MatchString(s) && matter.MatchString(s) && !ofRequest.MatchString(s) {
			return true
		}
	}
	return false
}

var ofRequest = lazyregexp.New(`\b(?:tools?|functions?|schema|parameters?|propert(?:y|ies)|fields?|arguments?|images?|messages?)\b(?:\[|[^:]|$)`)

var sentences = lazyregexp.New(`[.!?;。，]\s|\n`)

// spent reports whether money or a quota is gone, which waiting does not bring back. Words that
// providers also use of the limit of a minute count only if the refusal names no time.
func (w reason) spent(status int, wait time.Duration) bool {
	switch {
	case status == 402, w.has("insufficient_quota", "insufficient_user_quota", "recharge", "top up", "arrearage", "余额不足", "额度不足", "欠费", "spending limit", "spend limit",
		"usage limits. you will regain", "free-models-per-day", "perday", "suspended", "exceeded_current_quota_error", "payment required", "payment_required", "current spend"),
		w.inSentence(money, gone) && !thinks.MatchString(string(w)), w.has("credit balance"), w.inSentence(bill, unpaid):
		return true
	case status != 429 && status != 403 && status != 412 && status != 0:
		return false
	case zeroLimit.MatchString(string(w)):
		return true
	}
	return wait == 0 && !soon.MatchString(string(w)) && (w.inSentence(allowed, usedUp) || w.inSentence(usedUp, period) || w.has("too many") && period.MatchString(string(w)))
}

// inBytes reports whether a request is too long because of its size in bytes, which has nothing to
// do with the model's tokens: a proxy's limit, or one of the server's front end. Any 413 that does
// not say what it counts is taken for that.
func (w reason) inBytes(status int) bool {
	return !w.has("token") && (w.has("byte", "character", "message size", " mb", "mib", "request body", "entity", "payload") ||
		status == 413 && !w.has("context", "prompt"))
}

var zeroLimit = lazyregexp.New(`\blimit: ?0\b`)

// tooLargeForLimit reports whether a single request is larger than a limit of rate: it will be
// refused at any time.
func (w reason) tooLargeForLimit() bool {
	if w.has("request too large", "request_too_large", "request is too large") {
		return true
	}
	limit, asked := amount(limits, w), amount(requested, w)
	return w.has("token") && limit > 0 && asked > limit
}

var (
	limits    = lazyregexp.New(`\blimit:? ([0-9][0-9,]*)`)
	requested = lazyregexp.New(`\brequested:? (?:about )?([0-9][0-9,]*)`)
	// statedWindow is a window in the words of most servers: vLLM adds to them how long an answer
	// may be at most, how long the request is, and no number that is larger than the window.
	statedWindow = lazyregexp.New(`(?:\bcontext (?:length|window|size) (?:is|of) (?:only )?|\+ \S+ must be <= ?)([0-9][0-9,]*)`)
	// noWindow is a code behind a sentence, as MiniMax writes it, and by how much a request is too long.
	noWindow  = lazyregexp.New(`\([12][0-9]{3}\)\W*$|\bby [0-9][0-9,]*`)
	anyNumber = lazyregexp.New(`[0-9][0-9,]*`)
	number    = lazyregexp.New(`[0-9][0-9,]{3,}`)
)

func amount(r *lazyregexp.Regexp, w reason) int {
	m := r.FindStringSubmatch(string(w))
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(strings.ReplaceAll(m[1], ",", "")) // 0 is none
	return n
}

// windowIn returns the context window that an error names, or 0. An unrecognised error may concern
// a request that is too long if it has two numbers of that size.
func windowIn(err *llm.Error, text string, object []byte) int {
	switch {
	case errors.Is(err, tooManyBytes{}):
	case err.Kind == llm.TooLong,
		err.Kind == llm.Overloaded && (err.Status == 0 || err.Status == 500) && len(number.FindAllString(text, 2)) == 2:
		return namedWindow(text, object)
	}
	return 0
}

// namedWindow returns the context window in tokens named by the refusal of a request that is too
// long, or 0. Unless the sentence states the context explicitly, the largest of its numbers is the
// request and the next one the window, which stands alone where the request is not counted. Where
// the request is the sum of two others, its input and the room for an answer, neither of these is
// the window.
func namedWindow(text string, object []byte) int {
	var said struct {
		Error struct {
			Window int `json:"n_ctx"` // llama.cpp
		} `json:"error"`
	}
	if json.Unmarshal(object, &said) == nil && said.Error.Window > 0 {
		return said.Error.Window
	}
	if n := amount(statedWindow, reason(strings.ToLower(text))); n >= 1000 {
		return n
	}
	var found []int
	parts := sumIn(text)
	text = noWindow.Regexp().ReplaceAllString(text, "")
	for _, digits := range number.FindAllString(text, -1) {
		if n, err := strconv.Atoi(strings.ReplaceAll(digits, ",", "")); err == nil && !codeOf(object, digits) && !slices.Contains(parts, n) {
			found = append(found, n)
		}
	}
	slices.Sort(found)
	switch found = slices.Compact(found); len(found) {
	case 0:
		return 0
	case 1:
		return found[0]
	}
	if parts != nil {
		return found[len(found)-1]
	}
	return found[len(found)-2]
}

// sumIn finds a number in text that is the sum of two others, all three; of several the largest.
func sumIn(text string) (parts []int) {
	var all []int
	for _, digits := range anyNumber.FindAllString(text, 50) {
		if n, err := strconv.Atoi(strings.ReplaceAll(digits, ",", "")); err == nil && n > 0 {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	for i := len(all) - 1; i >= 2; i-- {
		for j := range i {
			for k := range j {
				if all[j]+all[k] == all[i] && all[i] >= 1000 {
					return []int{all[i], all[j], all[k]}
				}
			}
		}
	}
	return nil
}

// codeOf reports whether an object has so many digits as a code of the error.
func codeOf(object []byte, digits string) bool {
	for _, before := range []string{`code":`, `code": `, `code":"`, `code": "`} {
		if bytes.Contains(object, []byte(before+digits)) {
			return true
		}
	}
	return false
}

// overflow reports whether a request was longer than the model's window.
func (w reason) overflow() bool {
	if w.has("context length", "context_length", "context window", "context size", "context limit", "exceed_context", "input length exceeds", "prompt is too long", "input is too long",
		"too many tokens", "maximum context", "reduce the length", "maximum prompt length", "token limit exceeded", "model token limit", "prompt_too_long", "request too large", "request_too_large", "range of input length", "inputs` tokens", "超长", "n_ctx") {
		return true
	}
	// What bounds the answer, or a single field, is another mistake.
	if w.has("max_tokens", "max_completion_tokens", "max_output_tokens", "max_new_tokens", "completion tokens", "output tokens", "string too long", "array too long", "image", "temperature", "top_p", "tools") {
		return false
	}
	about := w.has("token", "prompt", "context", "input length", "input size", "input too", "message size", "messages too", "request size", "request body", "conversation")
	over := w.has("exceed", "longer than", "larger than", "greater than", "more than", "less than", "fewer than", "at most", "up to", "beyond", "over the limit", "maximum", " > ", " >= ")
	return about && (w.has("too long", "too large", "too big") || over && (number.MatchString(string(w)) || w.has("limit", "maximum", "max length", "allowed")))
}

// A reason is the words of a refusal, in lower case.
type reason string

func (w reason) has(list ...string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return strings.Contains(string(w), s) })
}

// tooManyBytes is the cause of an error of kind TooLong whose limit is one of bytes, as of a proxy:
// it shows nothing about the window.
type tooManyBytes struct{}

func (tooManyBytes) Error() string { return "the limit is one of bytes" }

// InBytes implements the interface by which other packages recognise the error.
func (tooManyBytes) InBytes() {}

// LimitOfRate is the cause of an error of kind TooLong whose limit is one of rate, or may be: it is no
// window, for it grows with the account.
type LimitOfRate struct{}

func (LimitOfRate) Error() string { return "the limit is one of rate" }

// A Denial is the cause of a refusal that another key would not change.
type Denial string

// What access is denied for. Spent is for lack of money or of quota, which waiting does not bring back.
const (
	Spent     Denial = "spent"
	plan      Denial = "plan"
	region    Denial = "region"
	unproven  Denial = "verification"
	terms     Denial = "terms"
	content   Denial = "content"
	signIn    Denial = "sign-in"
	access    Denial = "access"
	notTheAPI Denial = "page"
	// Unnamed is a 403 that names no cause.
	Unnamed Denial = "unnamed"
)

func (d Denial) Error() string { return "access is denied: " + string(d) }

// denials lists the phrases of providers for each denial; the first match wins. sure decides for
// any status; said, together with one of with if there are any, only where access is refused.
var denials = []struct {
	is               Denial
	sure, said, with []string
}{
	{signIn, nil, []string{"signin_url"}, nil},
	{unproven, []string{"organization must be verified", "organisation must be verified", "account must be verified"}, []string{"be verified", "not verified", "verify ", " verification", "实名认证"}, nil},
	{region, []string{"user location is not", "your country", "your region", "country, region"}, []string{"country", "territory", "region", "location", "geograph"}, []string{"not supported", "unsupported", "not available", "unavailable", "not allowed", "restrict", "block", "forbidden", "denied"}},
	{terms, []string{"terms acceptance", "terms_required", "use case details", "data policy", "fair usage policy"}, []string{"terms", "conditions", "licence", "license", "agreement", "eula", "gated", "marketplace"}, []string{"accept", "agree", "consent", "gated", "subscri"}},
	{content, []string{"your prompt was flagged", "your input was flagged", "content_filter", "content management policy", "inappropriate content", "data_inspection_failed", "usage policy", "sensitive content", "敏感内容"},
		[]string{"flagged", "moderation", "content policy", "content_policy"}, nil},
	{plan, []string{"requires a subscription", "subscription plan does not", "订阅套餐"}, []string{"subscription", "upgrade", "your plan", "current plan", "pricing tier", "paid plan", "paid tier", "free tier", "entitle", "licensed"}, nil},
	{access, []string{"missing scopes", "has not activated", "modelnotopen", "does not have access to model"}, []string{"permission", "permitted", "not have access", "no access", "not authorized to", "not authorised to", "not allowed", "access to model", "access to the model", "access denied", "accessdenied", "not enabled", "has not been used in project", "disabled", "allowlist", "whitelist", "blocked", "ip address", "无权"}, nil},
}

// ofKeys are the words of those that refuse a key.
var ofKeys = []string{"api key", "api-key", "api_key", "apikey", "credential", "authenticat", "access token", "auth token", "security token", "token is", "invalid token", "expired", "unauthorized", "unauthorised", "sign in", "log in", "login", "bearer"}

// denial returns the cause of a refusal other than the key, or "" if the key is, or may be, the
// cause.
func (w reason) denial(status int) Denial {
	switch {
	case status == 446: // of Portkey, for the checks of its guardrails
		return content
	case w.has("invalid api key", "subscription key", "incorrect api key", "api key not valid"):
		return ""
	}
	refused := status == 401 || status == 403 || status == 451
	for _, d := range denials {
		switch {
		case (refused || status == 400 || status == 404 || status == 429) && w.has(d.sure...),
			refused && w.has(d.said...) && (d.with == nil || w.has(d.with...)) && !(status == 401 && d.is == access):
			return d.is
		}
	}
	if (refused || status == 400) && w.inSentence(account, barred) {
		return access
	}
	if status == 403 && !w.has(ofKeys...) || status == 451 {
		return Unnamed
	}
	return ""
}

// hint returns advice for the user.
func (d Denial) hint(host string) string {
	switch d {
	case Spent:
		return "the account at " + host + " has no credit or quota left for this: see its billing and limits, or take another model"
	case plan:
		return "the plan of the account at " + host + " does not have this: change the plan, or take another model"
	case region:
		return host + " refuses this for a region, not for the key: take a model or an address that serves it"
	case unproven:
		return host + " wants the organisation or the account verified first: see its settings, or take another model"
	case terms:
		return host + " wants its terms accepted or kept, or a setting about data: see the account's settings, or take another model"
	case content:
		return host + " refuses what the request has in it, not the key: word it differently, or take another model"
	case signIn:
		return "the server at " + host + " is not signed in: ollama signin, on the machine where it runs"
	case access:
		return "the account or project at " + host + " may not use this: have it permitted there, or take another model"
	case notTheAPI:
		return "a page came from a proxy, a firewall or a login before " + host + ", or that is no model's server: check the base URL and the network"
	}
	return host + " refuses this and names no cause: that may be the rights of the key, the account or the network"
}
