package secret

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Every value of an environment file is a secret, whatever its name, but for
// what stands in other texts as well.
func TestDotenvValues(t *testing.T) {
	secrets := []string{
		"hunter2pass", "S3cr3tValue", "correcthorsebatterystaple", "a!b@c#d$e%f", "0123456789abcdef0123", "dGhpcyBpcyBzZWNyZXQ=",
		"https://abc123@o1.ingest.example.com/7", "redis://:s3cret-pw@localhost:6379/0", "https://example.com/hook?token=abc", "two words 4 you, really",
	}
	for _, v := range secrets {
		if got := Dotenv("GREETING=" + v + "\n"); !slices.ContainsFunc(got, func(k Known) bool { return k.Value == v }) {
			t.Errorf("%q is no secret: %+v", v, got)
		}
		if got := Dotenv("export X_URL=\"" + v + "\""); len(got) == 0 {
			t.Errorf("%q in quotes is no secret", v)
		}
	}
	for _, v := range []string{"", "short", "production", "us-east-1", "localhost:5432", "postgres15", "My Great App", "https://api.example.com/v1", "me@example.com",
		"2026-11-22T10:00:00Z", "127.0.0.1:8080", "/var/lib/data", "v1.22.3-rc.1", "staging_2", "info,debug"[:4], "12345678"} {
		if got := Dotenv("GREETING=" + v); len(got) > 0 {
			t.Errorf("%q is a secret", v)
		}
	}
	if got := Dotenv("DB_URL=postgres://me:hunter2pass@db/x"); !slices.ContainsFunc(got, func(k Known) bool { return k.Value == "hunter2pass" }) {
		t.Errorf("the password in an address is no secret: %+v", got)
	}
}

// Environment files are found wherever they are; examples, links and installed
// packages are not read.
func TestDotenvIn(t *testing.T) {
	dir := t.TempDir()
	for name, value := range map[string]string{
		".env": "top11secret", "a/b/.env": "deep22secret", "svc/.env.local": "local33secret", ".env.example": "example44text",
		"node_modules/x/.env": "package55text", "notes.txt": "file66text",
	} {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte("GREETING="+value+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "notes.txt"), filepath.Join(dir, ".env.link")); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, k := range DotenvIn(dir) {
		got = append(got, k.Value)
	}
	slices.Sort(got)
	if want := []string{"deep22secret", "local33secret", "top11secret"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
