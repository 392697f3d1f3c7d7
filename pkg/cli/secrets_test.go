package cli

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/adroit-run/adroit/internal/builtin/control"
	"github.com/adroit-run/adroit/pkg/cli/internal/kit"
	"github.com/adroit-run/adroit/pkg/tools"
)

const labKey = "Qz8-Marble-Falcon-31xy"

// lab runs the program against a server, with its key in the environment and in
// a header, and returns what was printed.
func lab(t *testing.T, h http.HandlerFunc, args ...string) (stdout, stderr, data string, code int) {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	home := t.TempDir()
	data = filepath.Join(home, "data")
	conf := filepath.Join(home, "config.yaml")
	text := fmt.Sprintf("endpoints:\n  lab:\n    base_url: %s/v1\n    key_env: LAB_KEY\n    headers: {X-Api: Bearer Header-Value-55-zebra}\n", srv.URL)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	agents := filepath.Join(home, ".config", "adroit", "agents")
	if err := os.MkdirAll(agents, 0o755); err != nil {
		t.Fatal(err)
	}
	agent := "---\nname: poet\ndescription: Says something.\n---\nYou say something.\n"
	if err := os.WriteFile(filepath.Join(agents, "poet.md"), []byte(agent), 0o644); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"HOME": home, "ADROIT_CONFIG": conf, "ADROIT_HOME": data, "LAB_KEY": labKey, "OLLAMA_HOST": "127.0.0.1:9"}
	var out, errs bytes.Buffer
	p := Program{Tools: []tools.Tool{control.Finish}, Stdout: &out, Stderr: &errs, Getenv: func(k string) string { return env[k] }}
	code = p.Run(t.Context(), args...)
	return out.String(), errs.String(), data, code
}

// absent fails if any of the texts or of the files below dir has a key.
func absent(t *testing.T, dir string, texts ...string) {
	t.Helper()
	kept := 0
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(p)
		texts = append(texts, string(b))
		kept += len(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if kept == 0 {
		t.Fatal("nothing was kept: the test looks in the wrong place")
	}
	for _, text := range texts {
		for _, key := range []string{labKey, "Header-Value-55-zebra", "Marble-Falcon", "RmFsY29uLTMx", "ZS1GYWxjb24t", "hcmJsZS1GYWxjb2"} {
			if strings.Contains(text, key) {
				t.Errorf("%s is in %.300q", key, text)
			}
		}
	}
}

// Conformance 70: a provider that echoes the key and the headers.
func TestProviderEchoesTheKey(t *testing.T) {
	echo := func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{
			"message": "Incorrect API key provided: " + strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ") + "; X-Api was " + r.Header.Get("X-Api") +
				"; in base64 " + base64.StdEncoding.EncodeToString([]byte("me:"+labKey)),
		}})
	}
	for _, args := range [][]string{
		{"run", "poet", "say it", "-m", "lab/x", "--json"},
		{"run", "poet", "say it", "-m", "lab/x"},
	} {
		stdout, stderr, data, code := lab(t, echo, args...)
		if code != kit.Failed {
			t.Errorf("%v: exit code %d", args, code)
		}
		if both := stdout + stderr; !strings.Contains(both, "[secret: LAB_KEY]") || !strings.Contains(both, "Incorrect API key provided") {
			t.Errorf("%v: the places are not shown:\n%s%s", args, stdout, stderr)
		}
		absent(t, data, stdout, stderr)
	}
	stdout, stderr, _, code := lab(t, echo, "models", "check", "lab/x")
	if code == kit.Done || strings.Contains(stdout+stderr, "Marble") || !strings.Contains(stdout+stderr, "[secret: LAB_KEY]") {
		t.Errorf("models check, exit %d:\n%s%s", code, stdout, stderr)
	}
}

// Conformance 68: an answer that has the key in pieces, and in other forms.
func TestStreamSplitsTheKey(t *testing.T) {
	stream := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		text := "Your key is " + labKey + ", in JSON " + strings.ReplaceAll(labKey, "-", `\u002d`) + " fine. In base64 UXo4LU1hcmJsZS1GYWxjb24tMzF4eQ== it is."
		for _, piece := range strings.SplitAfter(text, "") {
			b, _ := json.Marshal(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]any{"content": piece}}}})
			fmt.Fprintf(w, "data: %s\n\n", b)
			w.(http.Flusher).Flush()
		}
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}
	for _, args := range [][]string{
		{"run", "poet", "tell me", "-m", "lab/x", "--json"},
		{"run", "poet", "tell me", "-m", "lab/x"},
	} {
		stdout, stderr, data, code := lab(t, stream, args...)
		if code != kit.Done {
			t.Fatalf("%v: exit code %d\n%s", args, code, stderr)
		}
		if !strings.Contains(stdout, "Your key is [secret: LAB_KEY]") || strings.Contains(stdout+stderr, "UXo4LU1hcmJsZS1GYWxjb24tMzF4") {
			t.Errorf("%v: stdout %q", args, stdout)
		}
		absent(t, data, stdout, stderr)
	}
}

// Conformance 71: what is kept is for its owner alone.
func TestModesOfWhatIsKept(t *testing.T) {
	stream := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hello\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}
	_, stderr, data, code := lab(t, stream, "run", "poet", "x", "-m", "lab/x")
	if code != kit.Done {
		t.Fatal(stderr)
	}
	seen := 0
	err := filepath.WalkDir(data, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", p, info.Mode())
		}
		seen++
		return err
	})
	if err != nil || seen < 3 {
		t.Fatalf("%d names: %v", seen, err)
	}
}
