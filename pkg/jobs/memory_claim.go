package jobs

import (
	"context"
	"fmt"
	"time"
)

// crashLimit is how often a job may lose its runner before it is blocked.
const crashLimit = 3

// Claim implements Store.
func (m *Memory) Claim(ctx context.Context, id, owner string, ttl time.Duration) (*Job, Journal, error) {
	return m.claim(ctx, id, owner, ttl, Running)
}

// Enqueue implements Store.
func (m *Memory) Enqueue(ctx context.Context, id, owner string, ttl time.Duration) (*Job, Journal, error) {
	return m.claim(ctx, id, owner, ttl, Queued)
}

func (m *Memory) claim(ctx context.Context, id, owner string, ttl time.Duration, status Status) (*Job, Journal, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h, err := m.find(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case owner == "":
		return nil, nil, fmt.Errorf("%s: claim: an owner is needed", id)
	case h.Status.Final():
		return nil, nil, fmt.Errorf("%s: %w (%s)", id, ErrFinal, h.Status)
	case h.Status == Blocked:
		return nil, nil, fmt.Errorf("%s: %w: %s", id, ErrBlocked, h.Reason)
	case !h.dead():
		return nil, nil, fmt.Errorf("%s: %w (%s)", id, ErrHeld, h.Lease.Owner)
	}
	defer h.ring()
	now := time.Now()
	h.Updated = now
	h.Lease.Token++
	if h.Status == Running {
		h.Crashes++
	}
	if h.Crashes >= crashLimit {
		h.Status, h.Lease.Owner = Blocked, ""
		h.Reason = fmt.Sprintf("its runner died %d times; look at its last events, then resume it", h.Crashes)
		return nil, nil, fmt.Errorf("%s: %w: %s", id, ErrBlocked, h.Reason)
	}
	h.Status, h.Reason = status, ""
	if h.Started.IsZero() && status == Running {
		h.Started = now
	}
	h.Lease.Owner, h.Lease.Expires = owner, now.Add(ttl)
	j := h.Job
	return &j, &memoryJournal{m, id, j.Lease.Token}, nil
}
