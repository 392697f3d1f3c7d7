package secret

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// spelled are the ways in which programs write a name of these words.
var spelled = map[string]func(words []string) string{
	"camel":  func(w []string) string { return w[0] + strings.Join(titles(w[1:]), "") },
	"pascal": func(w []string) string { return strings.Join(titles(w), "") },
	"snake":  func(w []string) string { return strings.Join(w, "_") },
	"kebab":  func(w []string) string { return "--" + strings.Join(w, "-") },
	"header": func(w []string) string { return "X-" + strings.Join(titles(w), "-") },
	"dotted": func(w []string) string { return "answer.body." + strings.Join(w, "_") },
}

func titles(words []string) (out []string) {
	for _, w := range words {
		out = append(out, strings.ToUpper(w[:1])+w[1:])
	}
	return out
}

// assignments are the ways in which a text gives a name a value.
var assignments = []string{`"NAME": "VALUE"`, `NAME=VALUE`, `NAME: VALUE`, `NAME: 'VALUE'`, `{\"NAME\":\"VALUE\"}`, `line\nNAME=VALUE`, `https://x.example/list?%24NAME=VALUE`, `x?a=b&NAME=VALUE`}

// TestNamesAroundToken writes names of data and of secrets in every spelling: the values
// of the first stay, those of the others go, and so does every value that has the shape
// of a secret. What nobody knows is a secret.
func TestNamesAroundToken(t *testing.T) {
	r := NewRedactor(Options{})
	rnd := rand.New(rand.NewPCG(7, 11))
	pick := func(list string) string { words := strings.Fields(list); return words[rnd.IntN(len(words))] }
	value := func() string {
		var b strings.Builder
		for range 24 + rnd.IntN(30) {
			b.WriteByte((letters + digits)[rnd.IntN(62)])
		}
		return "A7b" + b.String() + "9Q3"
	}
	unknown := "access refresh id npm auth session bearer api bot user fb github csrf app my service deploy slack personal device push admin root verify reset invite q7 zz"
	for range 800 {
		data := []string{pick(places + values)}
		for range rnd.IntN(3) {
			word := pick(places + values + beside)
			if rnd.IntN(2) == 0 {
				data = append(data, word)
			} else {
				data = append([]string{word}, data...)
			}
		}
		data = append(data, "token")
		secret := append([]string{}, data...)
		at := rnd.IntN(len(secret))
		secret = append(secret[:at:at], append([]string{pick(unknown)}, secret[at:]...)...)
		if rnd.IntN(4) == 0 {
			secret = append(data[:len(data):len(data)], pick("value secret key string hash abc bearer"))
		}
		for how, spell := range spelled {
			form, v := assignments[rnd.IntN(len(assignments))], value()
			fill := func(words []string, v string) string {
				return strings.NewReplacer("NAME", spell(words), "VALUE", v).Replace(form)
			}
			if text := fill(data, v); redacted(t, r, text, v, rnd) {
				t.Fatalf("%s: %s is redacted", how, text)
			}
			if text := fill(secret, v); !redacted(t, r, text, v, rnd) {
				t.Fatalf("%s: %s is not redacted", how, text)
			}
			if text := fill(data, ghToken); !redacted(t, r, text, ghToken, rnd) {
				t.Fatalf("%s: %s is not redacted", how, text)
			}
		}
	}
}

// redacted reports whether the value is gone from a text, in one piece and in two.
func redacted(t *testing.T, r *Redactor, text, value string, rnd *rand.Rand) bool {
	t.Helper()
	whole, _ := r.String(text)
	s, cut := r.Stream(), rnd.IntN(len(text))
	if pieces := s.Add(text[:cut]) + s.Add(text[cut:]) + s.End(); pieces != whole {
		t.Fatalf("%s becomes %s, and cut at %d %s", text, whole, cut, pieces)
	}
	return !strings.Contains(whole, value)
}

// TestKnownNamesOfTokens are names of real interfaces.
func TestKnownNamesOfTokens(t *testing.T) {
	r := NewRedactor(Options{})
	rnd := rand.New(rand.NewPCG(1, 2))
	const value = "AAMAefRSURB5GhxKq2Zt81" // looks random
	for names, hidden := range map[string]bool{
		"pagination_token paginationToken PaginationToken nextForwardToken nextBackwardToken startPageToken newStartPageToken $skiptoken after_token clientToken ClientToken NEXT_TOKEN --page-token X-Next-Page-Token NextContinuationToken ContinuationToken uploadSequenceToken nextSequenceToken tokenizer tokenizer_class tokenizer_config TOKENIZER slow_tokenizer tokenisation eos_token bos_token pad_token EOS_TOKEN resumptionToken watermarkToken bookmark_token x-ms-continuation-token tokenAddress token_symbol semanticTokens token_ids max_tokens maxTokens total_tokens $token-font-family --token-color colorToken changeToken ChangeToken newChangeToken encryption_key_arn encryptionKeyId signing_key_version masterKeySize ACCOUNT_KEY_NAME": false,
		"token tokens TOKEN Token access_token accessToken refreshToken id_token npm_token NPM_TOKEN x-auth-token session_token sessionToken client_token CLIENT_TOKEN PAGE_TOKEN SYNC_TOKEN authtoken userToken tokenValue tokenvalue TOKENISSUER token_secret nextPageTokenSecret github_page_token request_token oauth_token bot-token API_TOKEN csrfToken device_token a.b.token CHANGE_TOKEN email_change_token encryption_key encryptionKey ENCRYPTION_KEY X-Signing-Key signing_key --encryption-key MASTER_KEY db.masterKey storageAccountKey APP_KEY":                                                                                                                                                                                                     true,
	} {
		for _, name := range strings.Fields(names) {
			for _, form := range assignments {
				text := strings.NewReplacer("NAME", name, "VALUE", value).Replace(form)
				if redacted(t, r, text, value, rnd) != hidden {
					t.Errorf("%s: redacted: %v", text, !hidden)
				}
			}
		}
	}
	if text := `clientToken: "` + strings.Repeat(value, 4) + `"`; !redacted(t, r, text, value, rnd) {
		t.Errorf("%s is not redacted: nothing that is done once has so long a name", text)
	}
}
