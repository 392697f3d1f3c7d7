package podcast

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/adroit-run/adroit/internal/system/rootfs"
	"github.com/adroit-run/adroit/internal/tools/podcast/transcript"
)

// partStore is the directory in which a job keeps the parts of a recording that
// are transcribed, by what was sent. It is a convenience: what goes wrong with
// it is as if nothing were there. "" keeps none.
type partStore string

// keptParts is the store of a job; one that has no directory keeps none.
func keptParts(jobs, job string) partStore {
	if jobs == "" || !filepath.IsLocal(job) {
		return ""
	}
	dir := filepath.Join(jobs, job)
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return ""
	}
	return partStore(filepath.Join(dir, "transcribed"))
}

// id names a part: all that its text depends on.
func (s *speechServer) id(sound []byte, language string) string {
	h := sha256.New()
	for _, text := range []string{s.endpoint, s.Server, s.Model, language} {
		h.Write([]byte(text + "\x00"))
	}
	h.Write(sound)
	return hex.EncodeToString(h.Sum(nil))
}

func (p partStore) load(id string) ([]transcript.Cue, bool) {
	if p == "" {
		return nil, false
	}
	b, err := os.ReadFile(filepath.Join(string(p), id))
	var list []transcript.Cue
	return list, err == nil && json.Unmarshal(b, &list) == nil
}

// save keeps a part if it can.
func (p partStore) save(id string, list []transcript.Cue) {
	b, err := json.Marshal(list)
	if p != "" && err == nil {
		_ = rootfs.WriteFile(filepath.Join(string(p), id), b)
	}
}
