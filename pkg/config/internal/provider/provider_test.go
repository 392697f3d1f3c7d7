package provider

import "testing"

func TestOllamaHost(t *testing.T) {
	for in, want := range map[string]string{
		"":                       "",
		"127.0.0.1:1234":         "http://127.0.0.1:1234",
		"0.0.0.0":                "http://127.0.0.1:11434",
		"gpu":                    "http://gpu:11434",
		"https://gpu.example":    "https://gpu.example:443",
		"[::1]:99":               "http://[::1]:99",
		"http://gpu:8080/ollama": "http://gpu:8080/ollama",
	} {
		if got := ollamaHost(in); got != want {
			t.Errorf("ollamaHost(%q) = %q, want %q", in, got, want)
		}
	}
}
