package rootfs

import "runtime"

// onThread runs do without changing threads, for the sake of a child that is
// killed when the thread that started it ends.
func onThread[T any](do func() (T, error)) (T, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return do()
}
