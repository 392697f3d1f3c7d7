//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// dropCaps gives up every capability of the calling thread, for ever.
func dropCaps() error {
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("dropping ambient capabilities: %w", err)
	}
	for c := uintptr(0); c <= 63; c++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) {
			break // past the last one
		}
		if err != nil && !errors.Is(err, unix.EPERM) { // EPERM: not ours to drop, and not ours to regain
			return fmt.Errorf("dropping capability %d: %w", c, err)
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("dropping capabilities: %w", err)
	}
	if err := unix.Capget(&header, &none[0]); err != nil {
		return fmt.Errorf("looking at what capabilities are left: %w", err)
	}
	if none[0].Permitted|none[1].Permitted|none[0].Effective|none[1].Effective != 0 {
		return errors.New("capabilities are left after dropping all")
	}
	return nil
}
