package secret

import "sync"

// A class is a set of bytes.
type class [256]bool

func set(s string) *class {
	c := new(class)
	for i := 0; i < len(s); i++ {
		c[s[i]] = true
	}
	return c
}

const (
	digits  = "0123456789"
	lower   = "abcdefghijklmnopqrstuvwxyz"
	upper   = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	letters = lower + upper
)

var (
	alnum   = set(letters + digits)
	caps    = set(upper + digits)
	hexa    = set("abcdef" + digits)
	url64   = set(letters + digits + "-_")
	std64   = set(letters + digits + "+/=")
	dotted  = set(letters + digits + "-_.")
	slashed = set(letters + digits + "/")
	token68 = set(letters + digits + "-._~+/=")
	ident   = set(letters + digits + "_.-")
	spaces  = set(" \t")
)

// not returns the class of all printable bytes that are not in s; bytes outside of ASCII
// count as printable.
func not(s string) *class {
	c := new(class)
	out := set(s)
	for b := 0x21; b < 256; b++ {
		c[b] = b != 0x7f && !out[b]
	}
	return c
}

// A matcher drops the rest of a secret whose beginning was enough to know it.
type matcher struct {
	class *class
	armor *armor
}

func (e *matcher) on() bool { return e.class != nil || e.armor != nil }

// match returns how many bytes of s belong to the secret and turns itself off
// if the secret ended in s.
func (e *matcher) match(s string) int {
	if e.armor != nil {
		n, done := e.armor.match(s)
		if done {
			e.armor = nil
		}
		return n
	}
	for i := 0; i < len(s); i++ {
		if !e.class[s[i]] {
			e.class = nil
			return i
		}
	}
	return len(s)
}

// maxArmor bounds a private key, in bytes.
const maxArmor = 16 << 10

// An armor is the state within a block such as -----BEGIN PRIVATE KEY-----.
type armor struct {
	size   int
	dashes int  // in a row
	tails  int  // rows of five so far
	last   byte // before the next
	text   bool // something other than blanks stands on this line
}

var armored = set(letters + digits + "+/=\n\r\t \\\":,-|")

// match follows a block as it stands in a file, a diff, a listing with line
// numbers or a string literal. It ends behind the tail line, or where nothing
// of a key can stand.
func (a *armor) match(s string) (int, bool) {
	for i := 0; i < len(s); i++ {
		c := s[i]
		inner := a.tails == 0 && c == ' ' && a.text && a.last != ':' && a.last != ','
		if !armored[c] || inner || a.size >= maxArmor || a.tails == 1 && c == '\n' {
			return i, true
		}
		a.size++
		if c == '-' {
			a.dashes++
		} else {
			a.dashes = 0
		}
		if a.dashes == 5 {
			if a.tails++; a.tails == 2 {
				return i + 1, true
			}
		}
		switch c {
		case '\n':
			a.text = false
		case ' ', '\t', '-':
		default:
			a.text = true
		}
		a.last = c
	}
	return len(s), false
}

// A shape is a rule with the texts that it begins with.
type shape struct {
	kind   string
	starts []string
	word   bool
	match  func(s string, lead int, final, whole bool) verdict
}

// shapes are the well-known secrets. Each is precise enough that ordinary text
// and code do not look like it: what is replaced for nothing is missed by the
// model.
var shapes = sync.OnceValue(func() []shape {
	return []shape{
		{"private key", []string{"-----BEGIN "}, false, keyBlock},
		{"age key", []string{"AGE-SECRET-KEY-1"}, true, token(caps, 50, nil)},
		{"aws access key", []string{"AKIA", "ASIA", "ABIA", "ACCA"}, true, fixed(caps, 16)},
		{"github token", []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, true, token(alnum, 30, nil)},
		{"github token", []string{"github_pat_"}, true, token(set(letters+digits+"_"), 22, hasDigit)},
		{"gitlab token", []string{"glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glsoat-"}, true, token(dotted, 20, nil)},
		{"slack token", []string{"xoxa-", "xoxb-", "xoxe-", "xoxp-", "xoxr-", "xoxs-", "xapp-"}, true, token(url64, 20, hasDigit)},
		{"slack webhook", []string{"hooks.slack.com/services/"}, false, token(slashed, 30, nil)},
		{"google api key", []string{"AIza"}, true, fixed(url64, 35)},
		{"google oauth token", []string{"ya29."}, true, token(url64, 30, nil)},
		{"google oauth secret", []string{"GOCSPX-"}, true, token(url64, 20, nil)},
		{"api key", []string{"sk-proj-", "sk-svcacct-", "sk-admin-", "sk-ant-", "sk-or-"}, true, token(url64, 16, hasDigit)},
		{"api key", []string{"sk-"}, true, token(url64, 32, hasDigit)},
		{"stripe key", []string{"sk_live_", "rk_live_", "sk_test_", "rk_test_", "whsec_"}, true, token(alnum, 20, nil)},
		{"npm token", []string{"npm_"}, true, token(alnum, 36, nil)},
		{"pypi token", []string{"pypi-AgE"}, true, token(url64, 50, nil)},
		{"hugging face token", []string{"hf_"}, true, token(alnum, 30, nil)},
		{"sendgrid key", []string{"SG."}, true, token(dotted, 50, hasDigit)},
		{"digitalocean token", []string{"dop_v1_", "doo_v1_", "dor_v1_"}, true, token(hexa, 64, nil)},
		{"docker token", []string{"dckr_pat_", "dckr_oat_"}, true, token(url64, 20, nil)},
		{"notion token", []string{"ntn_"}, true, token(alnum, 40, nil)},
		{"vault token", []string{"hvs.", "hvb."}, true, token(url64, 24, nil)},
		{"grafana token", []string{"glsa_", "glc_"}, true, token(set(letters+digits+"_=+/"), 32, hasDigit)},
		{"linear key", []string{"lin_api_"}, true, token(alnum, 40, nil)},
		{"databricks token", []string{"dapi"}, true, token(hexa, 32, nil)},
		{"shopify token", []string{"shpat_", "shpss_", "shpca_", "shppa_"}, true, token(hexa, 32, nil)},
		// Of others by their form. Prefixes that their makers use for public identifiers, too, are left out,
		// as Stripe's price_ and PostHog's phc_ are, and beginnings that end many pieces of a stream, as a full
		// stop: they would be held back.
		{"access token", []string{"r8_", "dp.pt.", "dp.st.", "dp.sa.", "dp.ct.", "phx_", "vcp_", "vci_", "vca_", "apify_api_", "pnu_", "ddp_", "ddo_", "nfp_", "tfp_", "AKCp8", "EZAK", "CLOJARS_", "cio"}, true, token(alnum, 32, hasDigit)},
		{"api key", []string{"gsk_", "xai-", "pplx-", "csk-", "llx-"}, true, token(alnum, 32, hasDigit)},
		{"api key", []string{"fw_"}, true, token(alnum, 22, mixed)},
		{"api key", []string{"re_"}, true, token(set(letters+digits+"_"), 30, mixed)},
		{"access token", []string{"sbp_", "rubygems_", "pul-", "shippo_live_", "bkua_", "sgp_", "fc-", "e2b_", "dtn_", "sntryu_", "ctx7sk-", "sk_"}, true, token(hexa, 32, nil)},
		{"access token", []string{"tskey-auth-", "tskey-api-", "tskey-client-", "sq0atp-", "sq0csp-", "figd_", "figo_", "HRKU-", "CFPAT-", "fio-u-", "duffel_live_", "pscale_tkn_", "pscale_pw_", "pscale_oauth_", "esecret_", "ops_eyJ", "fo1_", "sha256~", "xkeysib-"},
			true, token(url64, 20, hasDigit)},
		{"api key", []string{"tvly-", "tgp_v1_", "pcsk_", "nvapi-", "wandb_v1_", "lsv2_pt_", "lsv2_sk_", "AQ.Ab8", "sk-lf-"}, true, token(url64, 20, hasDigit)},
		{"access token", []string{"sntrys_", "fm2_", "ATATT3", "ATCTT3", "sk.eyJ"}, true, token(token68, 50, hasDigit)},
		{"access token", []string{"secret_", "EAAA", "EAAC"}, true, token(url64, 40, mixed)}, // Notion's, Square's, Meta's
		{"postman key", []string{"PMAK-"}, true, token(set("abcdef"+digits+"-"), 59, nil)},
		{"new relic key", []string{"NRAK-"}, true, token(caps, 27, nil)},
		{"dynatrace token", []string{"dt0c01."}, true, token(set(upper+digits+"."), 80, nil)},
		{"discord webhook", []string{"discord.com/api/webhooks/", "discordapp.com/api/webhooks/"}, false, token(set(letters+digits+"-_/"), 60, hasDigit)},
		{"azure storage key", []string{"AccountKey="}, false, value(std64, 80, nil)},
		{"json web token", []string{"eyJ"}, true, webToken},
		{"password in a url", []string{"://"}, false, urlPassword},
		{"bearer token", []string{"Bearer ", "bearer ", "BEARER "}, true, value(token68, 16, hasDigit)},
		{"basic credentials", []string{"Basic "}, true, value(std64, 16, hasDigit)},
		{byName, []string{
			"password", "Password", "PASSWORD", "passwd", "PASSWD", "passphrase", "Passphrase", "PASSPHRASE",
			"secret", "Secret", "SECRET", "token", "Token", "TOKEN",
			"api_key", "apiKey", "ApiKey", "APIKey", "API_KEY", "apikey", "APIKEY", "api-key", "Api-Key", "API-Key",
			"access_key", "accessKey", "AccessKey", "ACCESS_KEY", "private_key", "privateKey", "PrivateKey", "PRIVATE_KEY",
			"encryption_key", "encryptionKey", "EncryptionKey", "ENCRYPTION_KEY", "encryption-key", "Encryption-Key", "signing_key", "signingKey", "SigningKey", "SIGNING_KEY", "signing-key", "Signing-Key",
			"master_key", "masterKey", "MasterKey", "MASTER_KEY", "account_key", "accountKey", "AccountKey", "ACCOUNT_KEY", "APP_KEY",
			"subscription_key", "subscriptionKey", "SubscriptionKey", "SUBSCRIPTION_KEY", "subscription-key", "Subscription-Key", "license_key", "licenseKey", "LicenseKey", "LICENSE_KEY", "license-key",
			"credential", "Credential", "CREDENTIAL",
		}, false, assigned},
		{byName, []string{"--password ", "--token ", "--api-key ", "--secret ", "--access-token ", "--auth-token ", "--client-secret "}, false, value(assignedPart, 12, random)},
	}
})

// anchors are the shapes as entries of an index.
func anchors() []entry {
	var out []entry
	for _, s := range shapes() {
		r := &rule{kind: s.kind, word: s.word, match: s.match}
		for _, lit := range s.starts {
			out = append(out, entry{lit: lit, rule: r})
		}
	}
	return out
}
