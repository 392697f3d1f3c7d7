package fetch

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/adroit-run/adroit/internal/system/rootfs"
)

const (
	maxEntry  = 4 << 20 // bytes of an answer that is kept
	mostKept  = 200     // answers; the ones not asked for longest go first
	maxHeader = 16 << 10
)

// A Cache keeps answers with what their servers gave us to ask whether they
// still hold. It is a convenience: what goes wrong with it is as if nothing
// were there. Several processes may use one directory.
type Cache struct{ Dir string }

// An entry is an answer that is kept: one line of JSON, then the body.
type entry struct {
	URL      string `json:"url"` // that was asked for, against clashes of names
	Accept   string `json:"accept"`
	Final    string `json:"final"`
	ETag     string `json:"etag,omitempty"`
	Modified string `json:"modified,omitempty"`
	Type     string `json:"type"`
	body     []byte
}

func (c *Cache) file(r Request) string {
	sum := sha256.Sum256([]byte(r.Accept + "\x00" + r.URL.String()))
	return filepath.Join(c.Dir, hex.EncodeToString(sum[:16]))
}

func (c *Cache) load(r Request) *entry {
	if c.Dir == "" {
		return nil
	}
	f, err := os.Open(c.file(r))
	if err != nil {
		return nil
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxEntry+maxHeader))
	if err != nil {
		return nil
	}
	head, body, ok := bytes.Cut(b, []byte("\n"))
	e := &entry{body: body}
	if !ok || json.Unmarshal(head, e) != nil || e.URL != r.URL.String() || e.Accept != r.Accept {
		return nil
	}
	return e
}

// ask adds the conditions under which the server need not answer in full.
func (e *entry) ask(h http.Header) {
	if e.ETag != "" {
		h.Set("If-None-Match", e.ETag)
	}
	if e.Modified != "" {
		h.Set("If-Modified-Since", e.Modified)
	}
}

func (e *entry) answer(at *url.URL) *Response {
	if u, err := url.Parse(e.Final); err == nil {
		at = u
	}
	a := &Response{URL: at, Status: http.StatusOK, header: http.Header{"Content-Type": {e.Type}}, Body: e.body, Unchanged: true}
	a.Type, a.Charset = Media(e.Type)
	return a
}

// touch notes that an entry was of use.
func (c *Cache) touch(r Request) {
	now := time.Now()
	_ = os.Chtimes(c.file(r), now, now)
}

func (c *Cache) save(r Request, a *Response) {
	e := entry{URL: r.URL.String(), Accept: r.Accept, Final: a.URL.String(), ETag: a.header.Get("ETag"), Modified: a.header.Get("Last-Modified"), Type: a.header.Get("Content-Type")}
	if c.Dir == "" || e.ETag == "" && e.Modified == "" || len(a.Body) > maxEntry {
		return
	}
	head, err := json.Marshal(e)
	if err != nil || len(head) >= maxHeader {
		return
	}
	if rootfs.WriteFile(c.file(r), slices.Concat(head, []byte("\n"), a.Body)) == nil {
		c.trim()
	}
}

// trim removes what was not of use for longest.
func (c *Cache) trim() {
	list, err := os.ReadDir(c.Dir)
	if err != nil || len(list) <= mostKept {
		return
	}
	type kept struct {
		name string
		used time.Time
	}
	var all []kept
	for _, f := range list {
		if info, err := f.Info(); err == nil && info.Mode().IsRegular() {
			all = append(all, kept{f.Name(), info.ModTime()})
		}
	}
	slices.SortFunc(all, func(a, b kept) int { return b.used.Compare(a.used) })
	for _, k := range all[min(mostKept, len(all)):] {
		_ = os.Remove(filepath.Join(c.Dir, k.name))
	}
}
