package transport

import (
	"slices"
	"strings"
)

// A reason is the words of a refusal, in lower case.
type reason string

func (w reason) has(list ...string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return strings.Contains(string(w), s) })
}

// tooManyBytes is the cause of an error of kind TooLong whose limit is one of bytes, as of a proxy:
// it shows nothing about the window.
type tooManyBytes struct{}

func (tooManyBytes) Error() string { return "the limit is one of bytes" }

// InBytes is how others recognise it.
func (tooManyBytes) InBytes() {}

// A Denial is the cause of a refusal that another key would not change, or that does not say so:
// what else is refused.
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

// denials are what providers say of each, the first that fits: where access is refused, said and, if
// there is one, with; sure is clear elsewhere, too.
var denials = []struct {
	is               Denial
	sure, said, with []string
}{
	{signIn, nil, []string{"signin_url"}, nil},
	{unproven, []string{"organization must be verified", "organisation must be verified", "account must be verified"}, []string{"be verified", "not verified", "verify", "verification", "实名认证"}, nil},
	{region, []string{"user location is not", "your country", "your region", "country, region"}, []string{"country", "territory", "region", "location", "geograph"}, []string{"not supported", "unsupported", "not available", "unavailable", "not allowed", "restrict", "block", "forbidden", "denied"}},
	{terms, []string{"terms acceptance", "terms_required", "use case details", "data policy"}, []string{"terms", "conditions", "licence", "license", "agreement", "eula", "gated", "marketplace"}, []string{"accept", "agree", "consent", "gated", "subscri"}},
	{content, nil, []string{"flagged", "moderation", "content policy", "content_policy", "content_filter"}, nil},
	{plan, []string{"requires a subscription", "subscription plan does not", "订阅套餐"}, []string{"subscription", "upgrade", "your plan", "current plan", "pricing tier", "paid plan", "paid tier", "free tier", "entitle", "licensed"}, nil},
	{access, []string{"has not activated", "modelnotopen", "does not have access to model"}, []string{"permission", "permitted", "not have access", "no access", "not authorized to", "not authorised to", "not allowed", "access to model", "access to the model", "access denied", "accessdenied", "not enabled", "has not been used in project", "disabled", "allowlist", "whitelist", "blocked", "ip address", "无权"}, nil},
}

// ofKeys are the words of those that refuse a key.
var ofKeys = []string{"api key", "api-key", "api_key", "apikey", "credential", "authenticat", "access token", "auth token", "security token", "token is", "invalid token", "expired", "unauthorized", "unauthorised", "sign in", "log in", "login", "bearer"}

// denial is what a refusal is for besides the key, "" if it is, or may be, for that.
func (w reason) denial(status int) Denial {
	if w.has("invalid api key", "subscription key", "incorrect api key", "api key not valid") {
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
	if status == 403 && !w.has(ofKeys...) || status == 451 {
		return Unnamed
	}
	return ""
}

// hint is what to do about it.
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
		return host + " wants its terms accepted, or a setting about data, first: see the account's settings, or take another model"
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
