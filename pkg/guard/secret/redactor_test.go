package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"
)

// Put together here, so that no scanner of this repository takes them for real.
var (
	ghToken = "ghp_" + strings.Repeat("aB3dE6", 6)
	slack   = "xoxb-" + "1234567890-abcdefGHIJKL"
	awsKey  = "AKIA" + "ABCDEFGH23456789"
	openai  = "sk-proj-" + strings.Repeat("Ab1_", 10)
	jwt     = "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxMjM0NTY3ODkwIn0" + ".dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
	pem     = "-----BEGIN RSA " + "PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIIEowIBAAKCAQEAx1aB\nq83hf+/cdKw0q2Zz8x\n-----END RSA " + "PRIVATE KEY-----"
)

func known() *Redactor {
	return NewRedactor(Options{Known: []Known{
		{"OPENAI_API_KEY", `pw/with"odd <chars>&+é`},
		{"MY_TOKEN", "Zebra-Crossing-77"},
		{"SHORT", "abc"},
	}})
}

func TestShapes(t *testing.T) {
	r := NewRedactor(Options{})
	for in, want := range map[string]string{
		"token is " + ghToken + ", ok":                      "token is [secret: github token], ok",
		"x=" + slack + "\n":                                 "x=[secret: slack token]\n",
		`{"k":"` + awsKey + `"}`:                            `{"k":"[secret: aws access key]"}`,
		"a" + awsKey:                                        "a" + awsKey,
		awsKey + "X":                                        awsKey + "X",
		openai:                                              "[secret: api key]",
		"sk-proj-abcdefghij0123456789":                      "[secret: api key]", // a provider's name needs no length
		"sk-estimator-doc-link-1234567":                     "sk-estimator-doc-link-1234567",
		"disk-" + strings.Repeat("a1", 30):                  "disk-" + strings.Repeat("a1", 30),
		"Cookie: " + jwt + ";":                              "Cookie: [secret: json web token];",
		"key:\n" + pem + "\nafter":                          "key:\n[secret: private key]\nafter",
		strings.ReplaceAll("+"+pem, "\n", "\n+") + "\n x":   "+[secret: private key]\n x",
		"the line -----BEGIN RSA PRIVATE KEY----- begins":   "the line -----BEGIN RSA PRIVATE KEY----- begins",
		`re("-----BEGIN RSA PRIVATE KEY-----")`:             `re("-----BEGIN RSA PRIVATE KEY-----")`,
		"postgres://app:s3cr3t!@db:5432/x":                  "postgres://app:[secret: password in a url]@db:5432/x",
		"https://host:8080/a@b":                             "https://host:8080/a@b",
		"https://u:$PASS@host/":                             "https://u:$PASS@host/",
		`api_key: "q8Zt3LmN0pXr7Kd2"`:                       `api_key: "[secret: named secret]"`,
		`"client_secret": "q8Zt3LmN0pXr7Kd2",`:              `"client_secret": "[secret: named secret]",`,
		"DB_PASSWORD=q8Zt3LmN0pXr7Kd2 run":                  "DB_PASSWORD=[secret: named secret] run",
		"token := os.Getenv(NAME_OF_TOKEN_123)":             "token := os.Getenv(NAME_OF_TOKEN_123)",
		"password = config.Auth2.Pass3word9":                "password = config.Auth2.Pass3word9",
		"SECRET_FILE=/home/me/q8Zt3LmN0pXr7Kd2":             "SECRET_FILE=/home/me/q8Zt3LmN0pXr7Kd2",
		"max_tokens: 400000 and a password: changeme":       "max_tokens: 400000 and a password: changeme",
		"Authorization: Bearer abcdefgh12345678.xyz":        "Authorization: Bearer [secret: bearer token]",
		"Basic authentication is not a credential here":     "Basic authentication is not a credential here",
		`curl -H "X: ` + ghToken + `" https://a.b/c -o out`: `curl -H "X: [secret: github token]" https://a.b/c -o out`,
		"escaped \\n" + ghToken:                             "escaped \\n[secret: github token]",
		`{"u":"a?b%3D` + ghToken + `","q":"\u0022` + ghToken + `\r` + ghToken + `"}`: `{"u":"a?b%3D[secret: github token]","q":"\u0022[secret: github token]\r[secret: github token]"}`,
		"\x1b[31m" + awsKey + "\x1b[0m \x1b[01;31m\x1b[K" + ghToken + "\x1b[m":       "\x1b[31m[secret: aws access key]\x1b[0m \x1b[01;31m\x1b[K[secret: github token]\x1b[m",
		`\x1b[1m` + awsKey + `\u001b[31m` + awsKey + ` \033[0m` + awsKey:             `\x1b[1m[secret: aws access key]\u001b[31m[secret: aws access key] \033[0m[secret: aws access key]`,
		"[1m" + awsKey + " x%zz" + awsKey + " u0022" + awsKey:                        "[1m" + awsKey + " x%zz" + awsKey + " u0022" + awsKey,
		"": "",
	} {
		if got, hit := r.String(in); got != want || hit != (in != want) {
			t.Errorf("%q\n gave %q (%v)\n want %q", in, got, hit, want)
		}
	}
}

// Tokens by the forms of their makers, standing alone, are replaced; public identifiers of the same
// makers and names in code are not.
func TestShapesOfMakers(t *testing.T) {
	r := NewRedactor(Options{})
	const a = "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYzAbCdEfGhIjKlMnOpQrStUvWxYz0123456789"
	const h = "3f9a7c1e5b2d8046af13ce57bd9208e4f6a1c3e5079b2d4f6810aceb3579d1f3"
	for lead, rest := range map[string]string{
		"gsk_": a[:52], "xai-": a[:60], "r8_": a[:37], "pplx-": a[:48], "csk-": a[:48], "llx-": a[:48], "fw_": a[:24], "re_": a[:8] + "_" + a[:24], "nvapi-": a[:60], "tvly-": a[:32], "pcsk_": a[:60], "sk-lf-": h[:36],
		"dp.pt.": a[:43], "phx_": a[:43], "vcp_": a[:56], "apify_api_": a[:36], "cio": a[:32], "sbp_": h[:40], "rubygems_": h[:48], "pul-": h[:40], "fc-": h[:32], "e2b_": h[:40], "sk_": h[:48], "ctx7sk-": h[:32],
		"tskey-auth-": a[:12] + "-" + a[:32], "sq0atp-": a[:22], "figd_": a[:40], "pscale_tkn_": a[:43], "ops_eyJ": a[:60], "sha256~": a[:43], "lsv2_pt_": h[:32] + "_" + h[:10], "AQ.Ab8": a[:40],
		"sntrys_": a[:60], "FlyV1 fm2_": a[:60], "ATATT3": a[:60], "secret_": a[:43], "EAAA": a[:60], "PMAK-": h[:24] + "-" + h[:34], "NRAK-": "ABCDEFGHJKLMNPQRSTUVWXYZ123",
		"discord.com/api/webhooks/": "123456789012345678/" + a[:68],
	} {
		got, hit := r.String("x " + lead + rest + ", y")
		if !hit || strings.Contains(got, rest[len(rest)/2:]) || !strings.HasSuffix(got, ", y") {
			t.Errorf("%s%s gave %q", lead, rest, got)
		}
	}
	for _, in := range []string{
		"price_" + "1MoBy5LkdIwHu7ixZhnattbh", "chatcmpl-" + "B9MBs8CjcvOU2jLn4n570S5qMJKcT", "toolu_" + "01A09q90qw90lq917835lq9", "call_" + "DdmO9pD3xa9XTPNJ32zg2hcA", "phc_" + a[:43], "sha256:" + h,
		"re_compile_all_the_patterns_of_version_2", "fw_version_2_of_the_device", "sk_buff_head_init_1234567890", "fc-layer-12-of-the-network", "cioffi", "secret_name_of_the_service_in_region_2", "EAAA", "key-" + h[:32], "pul-request-12",
	} {
		if got, hit := r.String("x " + in + " y"); hit {
			t.Errorf("%s gave %q", in, got)
		}
	}
}

// What ends most pieces of a stream is no beginning of a token: it is shown at once.
func TestNothingIsHeldAtTheEndOfASentence(t *testing.T) {
	for _, end := range []string{".", ",", ";", "!", "?", ")", "\n", " ", "`", "\""} {
		s := NewRedactor(Options{}).Stream()
		if got := s.Add("I look first" + end); got != "I look first"+end {
			t.Errorf("%q is held back: %q", end, got)
		}
	}
}

func TestKnownForms(t *testing.T) {
	r := known()
	v := `pw/with"odd <chars>&+é`
	quoted, _ := json.Marshal(v)
	twice, _ := json.Marshal(string(quoted))
	for _, in := range []string{
		v, string(quoted), string(twice), url.QueryEscape(v), url.PathEscape(v), lowerHex(url.QueryEscape(v)),
		fmt.Sprintf("%q", v), fmt.Sprintf("%x", v), fmt.Sprintf("%X", v), "&lt;" + v,
	} {
		got, hit := r.String("see " + in + " there")
		switch {
		case !hit:
			t.Errorf("hit is false: %q gave %q", in, got)
		case !strings.Contains(got, "[secret: OPENAI_API_KEY]"):
			t.Errorf(`got lacks "[secret: OPENAI_API_KEY]": %q gave %q`, in, got)
		case !strings.HasPrefix(got, "see "):
			t.Errorf(`strings.HasPrefix(got, "see ") is false: %q gave %q`, in, got)
		case !strings.HasSuffix(got, " there"):
			t.Errorf(`strings.HasSuffix(got, " there") is false: %q gave %q`, in, got)
		}
	}
	for lead := range 4 {
		for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
			in := enc.EncodeToString([]byte(strings.Repeat("u", lead) + ":Zebra-Crossing-77:tail"))
			got, hit := r.String(in)
			if !hit || len(got) >= len(in)+len("[secret: MY_TOKEN]")-15 {
				t.Errorf("base64 with %d bytes before: %q gave %q", lead, in, got)
			}
		}
	}
	if got, hit := r.String("abc abc"); hit {
		t.Errorf("a value of three bytes was redacted: %q", got)
	}
	if got, _ := r.Known().String(ghToken + " Zebra-Crossing-77"); got != ghToken+" [secret: MY_TOKEN]" {
		t.Errorf("Known redacts more or less than known values: %q", got)
	}
}

func TestJSON(t *testing.T) {
	r := known()
	for in, want := range map[string]string{
		`{"a":"Zebra-Crossing-77","b":[1,"\u005aebra-Crossing-77 \n"],"n":1e9}`: `{"a":"[secret: MY_TOKEN]","b":[1,"[secret: MY_TOKEN] \n"],"n":1e9}`,
		`{"Zebra-Crossing-77":null}`:    `{"[secret: MY_TOKEN]":null}`,
		`{"text":"a \"quoted\" thing"}`: `{"text":"a \"quoted\" thing"}`,
		`broken "Zebra-Crossing-77`:     `"broken \"[secret: MY_TOKEN]"`,
	} {
		got, hit := r.JSON(json.RawMessage(in))
		if string(got) != want || hit != (in != want) {
			t.Errorf("%s\n gave %s\n want %s", in, got, want)
		}
		if !json.Valid(got) {
			t.Errorf("%s gave what is not JSON", in)
		}
	}
}

func TestFind(t *testing.T) {
	text := "one\nkey " + ghToken + "\n\n" + pem + "\nurl://a:bcde@f\n"
	r := NewRedactor(Options{})
	found := r.Find(text)
	var got []string
	for _, f := range found {
		got = append(got, fmt.Sprint(f.Line, f.Kind))
	}
	if s := strings.Join(got, ", "); s != "2github token, 4private key, 10password in a url" {
		t.Fatalf("found %q", s)
	}
	if found[0].Fingerprint != Fingerprint(ghToken) || found[1].Fingerprint != Fingerprint(pem) {
		t.Error("the fingerprints are not those of the whole secrets")
	}
	allow := NewRedactor(Options{Allow: []string{Fingerprint(ghToken), Fingerprint(pem)}})
	if left := allow.Find(text); len(left) != 1 || left[0].Kind != "password in a url" {
		t.Errorf("with two allowed, found %v", left)
	}
	if got, hit := allow.String("key " + ghToken); hit {
		t.Errorf("an allowed finding was redacted: %q", got)
	}
}

func TestMarked(t *testing.T) {
	for in, want := range map[string]string{
		"x [secret: github token] y": "[secret: github token]",
		"[secret: a\nb] [secret: c]": "[secret: c]",
		"[secret: ":                  "", "none": "",
	} {
		if got, ok := Marked(in); got != want || ok != (want != "") {
			t.Errorf("Marked(%q) = %q, %v", in, got, ok)
		}
	}
}

func TestNil(t *testing.T) {
	var r *Redactor
	if s, hit := r.String(ghToken); hit || s != ghToken {
		t.Error("a nil Redactor redacts")
	}
	switch j, hit := r.JSON(json.RawMessage(`"x"`)); {
	case hit:
		t.Errorf("hit is true: a nil Redactor does something")
	case string(j) != `"x"`:
		t.Errorf("string(j) is %v, want `\"x\"`: a nil Redactor does something", string(j))
	case r.Find(ghToken) != nil:
		t.Errorf("r.Find(ghToken) is not nil: a nil Redactor does something")
	case r.Known() != nil:
		t.Errorf("r.Known() is not nil: a nil Redactor does something")
	}
	var b bytes.Buffer
	w := r.Writer(&b)
	fmt.Fprint(w, ghToken)
	if err := w.Close(); err != nil || b.String() != ghToken {
		t.Errorf("a nil Redactor's writer wrote %q, %v", b.String(), err)
	}
}

// corpus are texts with every shape in every neighbourhood.
func corpus() []string {
	all := []string{ghToken, slack, awsKey, openai, jwt, pem, "postgres://app:s3cr3t!@db", `api_key: "q8Zt3LmN0pXr7Kd2"`,
		"Bearer abcdefgh12345678.xyz", "Zebra-Crossing-77", "WmVicmEtQ3Jvc3NpbmctNzc=", "secret_token_Zebra-Crossing-77 = q8Zt3LmN0pXr7Kd2",
		"password", "token = ", "API_KEY=Zebra-Crossing-77", `token: "Zebra-Crossing-7`, "-----BEGIN OPENSSH PRIVATE KEY-----", "://", "eyJhbGciOiJIUzI1NiJ9.", "sk-", "Zebra-", "plain words\n", "\x00\xff", "é"}
	out := append([]string{strings.Join(all, "\n"), strings.Join(all, "")}, all...)
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var b strings.Builder
		for range 6 {
			b.WriteString(all[rng.IntN(len(all))])
			b.WriteString([]string{"", " ", "\n", "=", "\""}[rng.IntN(5)])
		}
		out = append(out, b.String())
	}
	return out
}

// A value that is known keeps its kind where its name would show it as well: only so is it sure.
func TestKnownBehindName(t *testing.T) {
	for _, text := range []string{"MY_TOKEN=Zebra-Crossing-77", `"password": "Zebra-Crossing-77"`, "api_key: Zebra-Crossing-77 # mine", "--token Zebra-Crossing-77", "TOKEN=Zebra-Crossing-77-and-more-of-it"} {
		if got, _ := known().String(text); !strings.Contains(got, "[secret: MY_TOKEN]") || !Sure(got) {
			t.Errorf("%q gave %q", text, got)
		}
	}
}

// cut writes text to w in pieces of the given sizes, over and over.
func cut(t *testing.T, r *Redactor, text string, sizes []byte) string {
	t.Helper()
	var b bytes.Buffer
	w := r.Writer(&b)
	for i := 0; text != ""; i++ {
		n := 1
		if len(sizes) > 0 {
			n = min(int(sizes[i%len(sizes)])+1, len(text))
		}
		if k, err := w.Write([]byte(text[:n])); err != nil || k != n {
			t.Fatal(k, err)
		}
		text = text[n:]
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestEverySplit proves that a stream's output does not depend on its pieces.
func TestEverySplit(t *testing.T) {
	r := known()
	for _, text := range corpus() {
		want, _ := r.String(text)
		if got := cut(t, r, text, nil); got != want {
			t.Fatalf("byte by byte:\n%q\n gave %q\n want %q", text, got, want)
		}
		for at := range min(len(text), 400) {
			s := r.Stream()
			if got := s.Add(text[:at]) + s.Add(text[at:]) + s.End(); got != want {
				t.Fatalf("cut at %d:\n%q\n gave %q\n want %q", at, text, got, want)
			}
		}
	}
}

// FuzzStream: whatever comes in whatever pieces, the output has no known value
// and is the same as in one piece.
func FuzzStream(f *testing.F) {
	for i, text := range corpus() {
		f.Add(text, []byte{byte(i), byte(i / 3)})
	}
	r := known()
	f.Fuzz(func(t *testing.T, text string, sizes []byte) {
		want, hit := r.String(text)
		for _, v := range []string{`pw/with"odd <chars>&+é`, "Zebra-Crossing-77", "WmVicmEtQ3Jvc3NpbmctNz"} {
			if strings.Contains(want, v) {
				t.Fatalf("%q is still in %q", v, want)
			}
		}
		if hit == (want == text) && !strings.Contains(text, "[secret: ") {
			t.Fatalf("hit is %v for %q", hit, text)
		}
		if got := cut(t, r, text, sizes); got != want {
			t.Fatalf("in pieces %v: %q\n gave %q\n want %q", sizes, text, got, want)
		}
		j, _ := json.Marshal(text)
		clean, _ := r.JSON(j)
		if !json.Valid(clean) || bytes.Contains(clean, []byte("Zebra-Crossing-77")) {
			t.Fatalf("as JSON: %s", clean)
		}
	})
}

func BenchmarkString(b *testing.B) {
	r := known()
	code := strings.Repeat("func (m *machine) run(s string, final bool) int { return len(s) } // token by token, see key.go\n", 1000)
	var rnd strings.Builder
	rng := rand.New(rand.NewPCG(3, 4))
	for range 100_000 {
		rnd.WriteByte(letters[rng.IntN(len(letters))])
	}
	for name, text := range map[string]string{"code": code, "letters": rnd.String(), "anchors": strings.Repeat("sk-token:eyJ", 8000), "secrets": strings.Repeat(ghToken+" ", 2500)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				r.String(text)
			}
		})
	}
}

func BenchmarkWriter(b *testing.B) {
	chunk := []byte(strings.Repeat("func (m *machine) run(s string, final bool) int { return len(s) } // token by token, see key.go\n", 330))
	w := known().Writer(io.Discard)
	b.SetBytes(int64(len(chunk)))
	b.ReportAllocs()
	for b.Loop() {
		w.Write(chunk)
	}
}

// What only its name shows may be data: cursors and tokens of a design stay, and what is
// left of the others does not count as sure.
func TestNamesOfData(t *testing.T) {
	r := NewRedactor(Options{Known: []Known{{"KEY", "TokenQx77Lantern"}}})
	for text, want := range map[string]string{
		`{"nextPageToken": "CAoQAA9x7Kq2Zt81"}`:    `{"nextPageToken": "CAoQAA9x7Kq2Zt81"}`,
		`{"NextToken":"AAMA-EFRSURBSGhx7Kq2Zt81"}`: `{"NextToken":"AAMA-EFRSURBSGhx7Kq2Zt81"}`,
		`page_token=CAoQAA9x7Kq2Zt81`:              `page_token=CAoQAA9x7Kq2Zt81`,
		`designToken: "a9f3c2e1b8d7Kq"`:            `designToken: "a9f3c2e1b8d7Kq"`,
		`{"nextSyncToken":"CPDAlvWDx70CEPDA1"}`:    `{"nextSyncToken":"CPDAlvWDx70CEPDA1"}`,
		`next_page_token=CAoQAA9x7Kq2Zt81`:         `next_page_token=CAoQAA9x7Kq2Zt81`,
		`accessToken: "CAoQAA9x7Kq2Zt81"`:          `accessToken: "[secret: named secret]"`,
		`FB_PAGE_TOKEN=CAoQAA9x7Kq2Zt81`:           `FB_PAGE_TOKEN=[secret: named secret]`,
		`fb_page_token=CAoQAA9x7Kq2Zt81`:           `fb_page_token=[secret: named secret]`,
		`LANDINGPAGE_TOKEN=CAoQAA9x7Kq2Zt81`:       `LANDINGPAGE_TOKEN=[secret: named secret]`,
		`fbPageToken=CAoQAA9x7Kq2Zt81`:             `fbPageToken=[secret: named secret]`,
		`page_access_token=CAoQAA9x7Kq2Zt81`:       `page_access_token=[secret: named secret]`,
		`pageTokenSecret=CAoQAA9x7Kq2Zt81`:         `pageTokenSecret=[secret: named secret]`,
		`nextPageTokenQx77Lantern`:                 `nextPage[secret: KEY]`,
		"nextToken: \"" + ghToken + "\"":           `nextToken: "[secret: github token]"`,
	} {
		got, _ := r.String(text)
		if got != want {
			t.Errorf("%s becomes %s, want %s", text, got, want)
		}
		for cut := range text { // in pieces as in one
			s, b := r.Stream(), ""
			b += s.Add(text[:cut])
			b += s.Add(text[cut:])
			if b += s.End(); b != want {
				t.Errorf("%s cut at %d becomes %s", text, cut, b)
			}
		}
	}
	for text, want := range map[string]bool{"a [secret: named secret] b": false, "[secret: named secret] [secret: KEY]": true, "none": false} {
		if Sure(text) != want {
			t.Errorf("%s: %v", text, !want)
		}
	}
}

// Lines of APIs, forms, design systems, lock files, Kubernetes and code whose values are data, and
// of the secrets that stand beside them.
func TestLinesOfData(t *testing.T) {
	r := NewRedactor(Options{})
	for _, text := range []string{
		`{"next_cursor": "dXNlcjpVMDYxTkZUVDI9x7"}`,
		`{"nextPageToken":"CiAKGjBpNDd2Nmp2Zml2cXRwYjBpOXA"}`,
		`{"continuationToken": "1!120!MDAwMDM2IW9iamVjdA9x7--"}`,
		`{"NextContinuationToken":"1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J/wm36Hy4vbOwM="}`,
		`{"LastEvaluatedKey": {"id": {"S": "a8f9x7Kq2Zt81LmPo"}}}`,
		`{"StartAfterKey": "a8f9x7Kq2Zt81LmPo"}`,
		`"ExclusiveStartKey": "a8f9x7Kq2Zt81LmPo"`,
		`"lastKey": "a8f9x7Kq2Zt81LmPo"`,
		`{"paging": {"cursors": {"after": "MTAxNTExOTQ1MjAwNzI5NDE9x7"}}}`,
		`"endCursor": "Y3Vyc29yOnYyOpHOABCDEF12"`,
		`"syncToken": "CPDAlvWDx70CEPDA1Qx9"`,
		`"sync_token": "CPDAlvWDx70CEPDA1Qx9"`,
		`"delta_token": "CPDAlvWDx70CEPDA1Qx9"`,
		`"$skiptoken=RFNwdAIAAQAAAB86x7Kq"`,
		`"resumeToken": "82635A0F1x7Kq2Zt81"`,
		`"change_token": "82635A0F1x7Kq2Zt81"`,
		`"idempotencyToken": "550e8400-e29b-41d4-a716-446655440000"`,
		`"idempotency_key": "550e8400-e29b-41d4-a716-446655440000"`,
		`Idempotency-Key: 8e03978e-40d5-43dd-bc93-6894a57f9324`,
		`"ClientToken": "a8f9x7Kq2Zt81LmPo"`,
		`"clientRequestToken": "a8f9x7Kq2Zt81LmPo"`,
		`"designToken": "a9f3c2e1b8d7Kq"`,
		`--token-spacing-x12345678: 16px`,
		`tokens: { brandToken: "sys.color.primary40x7" }`,
		`token_count: 123456789012`,
		`"max_tokens": 128000`,
		`"total_tokens":123456789012`,
		`"tokenizer": "cl100k_base_x7Kq2Zt"`,
		`"eos_token": "<|endoftext9x7Kq2|>"`,
		`"pad_token_id": 50256`,
		`<input type="hidden" name="csrf_token" value="x7Kq2Zt81LmPo9aBc">`,
		`<meta name="csrf-token" content="x7Kq2Zt81LmPo9aBc">`,
		`"public_key": "MFkwEwYHKoZIzj0CAQYIKoZIzj0x7Kq2"`,
		`"publicKey": "MFkwEwYHKoZIzj0CAQYIKoZIzj0x7Kq2"`,
		`PUBLIC_KEY=MFkwEwYHKoZIzj0CAQYIKoZIzj0x7Kq2`,
		`public-key: x7Kq2Zt81LmPo9aBc`,
		`ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIx7Kq2Zt81LmPo9aBc user@host`,
		`"publishableKey": "x7Kq2Zt81LmPo9aBc"`,
		`api_key: ${API_KEY}`,
		`api_key: "${API_KEY_12345678}"`,
		`api_key = os.environ["API_KEY_1234"]`,
		`apiKey: process.env.API_KEY_1234x`,
		`api_key: {{ .Values.apiKey1234 }}`,
		`api_key: <YOUR_API_KEY_1234>`,
		`api_key=%API_KEY_12345%`,
		`API_KEY=$API_KEY_12345678`,
		`api_key: !Ref ApiKey12345678`,
		`api_key: vault:secret/data/app1#key2`,
		`api_key: env:API_KEY_1234`,
		`password: ***`,
		`password: ********`,
		`password: "<redacted-12345>"`,
		`"password": "$2y"`,
		`password: changeme`,
		`passwordField1234: input12345`,
		`passwordHash: sha256`,
		`password_confirmation: 12345`,
		`PasswordAuthentication no`,
		`password_min_length: 12`,
		`password=getPassword12(x34)`,
		`"password": {"type": "string", "minLength": 12}`,
		`secretName: my-app-secret-5f6d7c8b9x`,
		`secretKeyRef: {name: db-credentials-7f8g9h, key: password}`,
		`secretRef: my-secret-12ab34cd`,
		`secret_id: a8f9x7Kq2Zt81LmPo`,
		`"secretArn": "arn:aws:secretsmanager:us-east-1:123456789012:secret:db-a1B2c3"`,
		`secret_manager: projects/123/secrets/x7Kq2Zt81`,
		`sort_key: a8f9x7Kq2Zt81LmPo`,
		`primary_key: a8f9x7Kq2Zt81LmPo`,
		`"foreignKey": "a8f9x7Kq2Zt81LmPo"`,
		`partition_key: a8f9x7Kq2Zt81LmPo`,
		`"cacheKey": "a8f9x7Kq2Zt81LmPo"`,
		`cache_key: node-modules-a8f9x7Kq2Zt81`,
		`key: a8f9x7Kq2Zt81LmPo`,
		`"key": "a8f9x7Kq2Zt81LmPo"`,
		`"objectKey": "uploads/a8f9x7Kq2Zt81.png"`,
		`s3_key: uploads/a8f9x7Kq2Zt81.png`,
		`"hashKey": "a8f9x7Kq2Zt81LmPo"`,
		`i18nKey: home.title12345x`,
		`routingKey: orders.a8f9x7Kq2Zt81`,
		`"keyId": "a8f9x7Kq2Zt81LmPo"`,
		`"kid": "a8f9x7Kq2Zt81LmPo"`,
		`issue_key: PROJ-12345678x`,
		`licenseKey1: MIT-12345`,
		`"keyFingerprint": "SHA256:x7Kq2Zt81LmPo9aBc"`,
		`storage_key: a8f9x7Kq2Zt81LmPo`,
		`React key="a8f9x7Kq2Zt81LmPo"`,
		`"rowKey": "a8f9x7Kq2Zt81LmPo"`,
		`row_key=a8f9x7Kq2Zt81LmPo`,
		`map_key: a8f9x7Kq2Zt81LmPo`,
		`dedup_key: a8f9x7Kq2Zt81LmPo`,
		`"lookup_key": "standard_monthly_2024x"`,
		`keyword: a8f9x7Kq2Zt81LmPo`,
		`monkey: a8f9x7Kq2Zt81LmPo`,
		`hotkey=ctrl+shift+alt+F12345`,
		`integrity sha512-x7Kq2Zt81LmPo9aBcx7Kq2Zt81LmPo9aBcx7Kq2Zt81LmPo9aBcx7Kq2Zt81LmPo9aBcx7Kq2Zt81Lm==`,
		`"integrity": "sha512-x7Kq2Zt81LmPo9aBcx7Kq2Zt81LmPo9aBcx7Kq2Zt81LmPo9aBcx7Kq2Zt81Lm=="`,
		`golang.org/x/net v0.1.0 h1:x7Kq2Zt81LmPo9aBcx7Kq2Zt81LmPo9aBc12345678=`,
		`checksum = "9a3f4c5b6d7e8f901234567890abcdef9a3f4c5b6d7e8f901234567890abcdef"`,
		`commit 8342bb6318749720a1b2c3d4e5f60718293a4b5c`,
		`"etag": "W/\"x7Kq2Zt81LmPo9aBc\""`,
		`"id": "550e8400-e29b-41d4-a716-446655440000"`,
		`"sessionId": "a8f9x7Kq2Zt81LmPo"`,
		`"requestId": "a8f9x7Kq2Zt81LmPo"`,
		`"authorId": "a8f9x7Kq2Zt81LmPo"`,
		`author: a8f9x7Kq2Zt81LmPo`,
		`"signature": "a8f9x7Kq2Zt81LmPo9aBcD"`,
		`"nonce": "a8f9x7Kq2Zt81LmPo"`,
		`"salt": "a8f9x7Kq2Zt81LmPo"`,
		`tokenAddress: "0xdAC17F958D2ee523a2206206994597C13D831ec7"`,
		`tokenUrl: https://x.org/oauth/a8f9x7Kq2Zt81`,
		`token_endpoint: /oauth2/v2.0/token12`,
		`"token_type": "Bearer12345678x"`,
		`Token{Type: IDENT, Literal: "x12345678y90"}`,
		`line 3: unexpected token: x12345678y90z`,
		`"tokenId": "a8f9x7Kq2Zt81LmPo"`,
		`auth_token_ttl: 3600000000001`,
		`token_expires: 2024-01-02T03:04:05Z`,
		`"credentialId": "a8f9x7Kq2Zt81LmPo"`,
		`credentials_file: a8f9x7Kq2Zt81LmPo`,
		`"credentialType": "a8f9x7Kq2Zt81LmPo"`,
		`"apiKeyId": "a8f9x7Kq2Zt81LmPo"`,
		`"apiKeyName": "a8f9x7Kq2Zt81LmPo"`,
		`"accessKeyId": "x"`,
		`"encryption_key_id": "a8f9x7Kq2Zt81LmPo"`,
		`privateKeyPath: /etc/ssl/a8f9x7Kq2Zt81.pem`,
		`private_key: file:///etc/ssl/a8f9x7Kq2`,
		`private_key: ./keys/a8f9x7Kq2Zt81.pem`,
		`"pageToken": "a8f9x7Kq2Zt81LmPo"`,
		`"tokenSource": "a8f9x7Kq2Zt81LmPo"`,
		`password_reset_url: https://x/a8f9x7Kq2Zt81`,
		`"passkeyId": "a8f9x7Kq2Zt81LmPo"`,
	} {
		if got, hit := r.String(text); hit {
			t.Errorf("%s becomes %s", text, got)
		}
	}
	for _, text := range []string{
		`{"access_token": "x7Kq2Zt81LmPo9aBcDe"}`,
		`{"refresh_token":"x7Kq2Zt81LmPo9aBcDe","next_cursor":"dXNlcjpVMDYxTkZUVDI9x7"}`,
		`API_KEY=x7Kq2Zt81LmPo9aBcDe`,
		`api_key: x7Kq2Zt81LmPo9aBcDe`,
		`"apiKey": "x7Kq2Zt81LmPo9aBcDe"`,
		`password: x7Kq2Zt81LmPo9`,
		`"password":"x7Kq2Zt81LmPo9"`,
		`PGPASSWORD=x7Kq2Zt81LmPo9 psql`,
		`DB_PASSWORD='x7Kq2Zt81LmPo9'`,
		`client_secret=x7Kq2Zt81LmPo9aBcDe`,
		`"clientSecret": "x7Kq2Zt81LmPo9aBcDe"`,
		`secret_key: x7Kq2Zt81LmPo9aBcDe`,
		`aws_secret_access_key = x7Kq2Zt81LmPo9aBcDeFgHiJkLmNoPqRsTuVwX12`,
		`SECRET_KEY_BASE=x7Kq2Zt81LmPo9aBcDe`,
		`Authorization: Bearer x7Kq2Zt81LmPo9aBcDe`,
		`X-Api-Key: x7Kq2Zt81LmPo9aBcDe`,
		`private_key: x7Kq2Zt81LmPo9aBcDe`,
		`encryption_key=x7Kq2Zt81LmPo9aBcDe`,
		`signing_key: "x7Kq2Zt81LmPo9aBcDe"`,
		`webhook_secret: x7Kq2Zt81LmPo9aBcDe`,
		`"auth_token":"x7Kq2Zt81LmPo9aBcDe"`,
		`NPM_TOKEN=x7Kq2Zt81LmPo9aBcDe`,
		`//registry.npmjs.org/:_authToken=x7Kq2Zt81LmPo9aBcDe`,
		`session_token: x7Kq2Zt81LmPo9aBcDe`,
		`"id_token": "x7Kq2Zt81LmPo9aBcDe"`,
		`bot_token = "x7Kq2Zt81LmPo9aBcDe"`,
		`token: x7Kq2Zt81LmPo9aBcDe`,
		`"token": "x7Kq2Zt81LmPo9aBcDe"`,
		`--token x7Kq2Zt81LmPo9aBcDe`,
		`--password=x7Kq2Zt81LmPo9`,
		`passwd: x7Kq2Zt81LmPo9aB`,
		`passphrase: x7Kq2Zt81LmPo9aB`,
		`credentials: x7Kq2Zt81LmPo9aBcDe`,
		`account_key=x7Kq2Zt81LmPo9aBcDe==`,
		`AccountKey=x7Kq2Zt81LmPo9aBcDe==;EndpointSuffix=x`,
		`Password=x7Kq2Zt81LmPo9;Server=x`,
		`subscription_key: x7Kq2Zt81LmPo9aBcDe`,
		`license_key: x7Kq2Zt81LmPo9aBcDe`,
		`master_key=x7Kq2Zt81LmPo9aBcDe`,
		`app_secret="x7Kq2Zt81LmPo9aBcDe"`,
		`access_key: x7Kq2Zt81LmPo9aBcDe`,
		`shared_secret: x7Kq2Zt81LmPo9aBcDe`,
		`consumer_secret=x7Kq2Zt81LmPo9aBcDe`,
		`jwt_secret: x7Kq2Zt81LmPo9aBcDe`,
		`"value": "ghp_x7Kq2Zt81LmPo9aBcDex7Kq2Zt81LmPo9aBc"`,
		`db_password=x7Kq2Zt81LmPo9aBcDe page_token=CAoQAA9x7Kq2Zt81`,
	} {
		got, _ := r.String(text)
		s := r.Stream()
		in := s.Add(text[:len(text)/2])
		if in += s.Add(text[len(text)/2:]) + s.End(); !strings.Contains(got, "[secret: ") || strings.Contains(got, "x7Kq2Zt81LmPo9") || in != got {
			t.Errorf("%s becomes %s, in pieces %s", text, got, in)
		}
	}
}
