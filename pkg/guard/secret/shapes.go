package secret

// shapes are the well-known secrets. Each is precise enough that ordinary text
// and code do not look like it: what is replaced for nothing is missed by the
// model.
var shapes = []struct {
	kind   string
	starts []string
	word   bool
	match  func(s string, lead int, final, whole bool) verdict
}{
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
	{"azure storage key", []string{"AccountKey="}, false, value(std64, 80, nil)},
	{"json web token", []string{"eyJ"}, true, webToken},
	{"password in a url", []string{"://"}, false, urlPassword},
	{"bearer token", []string{"Bearer ", "bearer ", "BEARER "}, true, value(token68, 16, hasDigit)},
	{"basic credentials", []string{"Basic "}, true, value(std64, 16, hasDigit)},
	{byName, []string{
		"password", "Password", "PASSWORD", "passwd", "PASSWD", "passphrase", "Passphrase", "PASSPHRASE",
		"secret", "Secret", "SECRET", "token", "Token", "TOKEN",
		"api_key", "apiKey", "ApiKey", "APIKey", "API_KEY", "apikey", "APIKEY", "api-key", "Api-Key", "API-Key",
		"access_key", "accessKey", "AccessKey", "ACCESS_KEY", "private_key", "privateKey", "PRIVATE_KEY",
		"credential", "Credential", "CREDENTIAL",
	}, false, assigned},
}

// anchors are the shapes as entries of an index.
func anchors() []entry {
	var out []entry
	for i := range shapes {
		s := &shapes[i]
		r := &rule{kind: s.kind, word: s.word, match: s.match}
		for _, lit := range s.starts {
			out = append(out, entry{lit: lit, rule: r})
		}
	}
	return out
}
