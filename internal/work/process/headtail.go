package process

import (
	"fmt"
	"sync"
	"unicode/utf8"

	"github.com/adroit-run/adroit/internal/system/rootfs"
)

// keepHalf is how much of the beginning and of the end of an output is kept, in bytes.
const keepHalf = 32 << 10

// A HeadTail keeps the head and the tail of what is written to it.
type HeadTail struct {
	mu    sync.Mutex
	head  []byte
	ring  []byte
	pos   int // where the ring begins once it is full
	total int64
}

func (t *HeadTail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(b)
	t.total += int64(n)
	if room := min(keepHalf-len(t.head), len(b)); room > 0 {
		t.head = append(t.head, b[:room]...)
		b = b[room:]
	}
	if len(b) > keepHalf {
		b = b[len(b)-keepHalf:]
	}
	if room := min(keepHalf-len(t.ring), len(b)); room > 0 {
		t.ring = append(t.ring, b[:room]...)
		b = b[room:]
	}
	for len(b) > 0 {
		k := copy(t.ring[t.pos:], b)
		t.pos = (t.pos + k) % len(t.ring)
		b = b[k:]
	}
	return n, nil
}

// Text is the printable form, with a line that says where something is missing.
func (t *HeadTail) Text() (s string, total, dropped int64) {
	t.mu.Lock()
	head := string(t.head)
	end := string(t.ring[t.pos:]) + string(t.ring[:t.pos])
	total = t.total
	t.mu.Unlock()
	if int64(len(head)+len(end)) == total {
		return rootfs.Visible(head + end), total, 0
	}
	// A character that the cut went through belongs to neither side.
	for i := range utf8.UTFMax {
		if at := len(head) - 1 - i; at >= 0 && utf8.RuneStart(head[at]) {
			if !utf8.FullRuneInString(head[at:]) {
				head = head[:at]
			}
			break
		}
	}
	for range utf8.UTFMax - 1 {
		if end != "" && !utf8.RuneStart(end[0]) {
			end = end[1:]
		}
	}
	dropped = total - int64(len(head)+len(end))
	return fmt.Sprintf("%s\n[%d bytes left out here]\n%s", rootfs.Visible(head), dropped, rootfs.Visible(end)), total, dropped
}

// release lets go of the memory.
func (t *HeadTail) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.head, t.ring, t.pos = nil, nil, 0
}
