package overlay

import (
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// overwrite writes the new content into the file that is there. A kill in the
// middle leaves the upper layer as it is, and the next join writes it again.
func (j *joiner) overwrite(op *operation, above, below int, name string) error {
	in, err := openat(above, name, unix.O_RDONLY)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := openat(below, name, unix.O_WRONLY)
	if err != nil {
		return err
	}
	defer out.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(out.Fd()), &st); err != nil {
		return err
	}
	if !unchanged(&st, op.low) && j.writing() != op.path {
		return j.refuse(op, changedHere)
	}
	if err := j.write(op.path); err != nil {
		return err
	}
	j.at("overwriting " + op.path)
	n, err := io.Copy(out, in)
	if err == nil {
		err = out.Truncate(n)
	}
	if err == nil {
		err = unix.Fchmod(int(out.Fd()), op.up.Mode&0o7777)
	}
	if err == nil {
		err = unix.UtimesNanoAt(below, name, []unix.Timespec{op.up.Atim, op.up.Mtim}, unix.AT_SYMLINK_NOFOLLOW)
	}
	return j.used(op, above, name, err)
}

// write notes which file is being overwritten, and writing is the one that was
// when a join was killed: its content is the join's own.
func (j *joiner) write(p string) error {
	return os.WriteFile(j.o.dir+"/writing", []byte(p), 0o600)
}

func (j *joiner) writing() string {
	b, err := os.ReadFile(j.o.dir + "/writing")
	if err != nil {
		return ""
	}
	return string(b)
}

func openat(dir int, name string, flags int) (*os.File, error) {
	fd, err := unix.Openat(dir, name, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// copyHere makes the temporary file in the workspace's directory, for a layer on
// another file system.
func (j *joiner) copyHere(op *operation, from int, src string, below int) error {
	_ = unix.Unlinkat(below, j.o.Temp, 0)
	switch op.up.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		buf := make([]byte, unix.PathMax)
		n, err := unix.Readlinkat(from, src, buf)
		if err != nil {
			return err
		}
		return unix.Symlinkat(string(buf[:n]), below, j.o.Temp)
	case unix.S_IFREG:
	default: // a FIFO or socket, which has no content
		return unix.Mknodat(below, j.o.Temp, op.up.Mode, 0)
	}
	if op.up.Nlink > 1 { // the other name may be here already
		if first, ok := j.linked[op.up.Ino]; ok {
			if err := unix.Linkat(j.root, first, below, j.o.Temp, 0); err == nil {
				return nil
			}
		}
		j.linked[op.up.Ino] = op.path
	}
	in, err := openat(from, src, unix.O_RDONLY)
	if err != nil {
		return err
	}
	defer in.Close()
	fd, err := unix.Openat(below, j.o.Temp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	out := os.NewFile(uintptr(fd), j.o.Temp)
	defer out.Close()
	if err := copySparse(out, in); err != nil {
		// The room is for the next file, also while a process that another goroutine
		// is starting has this one open.
		_ = out.Truncate(0)
		return err
	}
	if err := unix.Fchmod(fd, op.up.Mode&0o7777); err != nil {
		return err
	}
	copyXattrs(fd, int(in.Fd()))
	if op.merged != "" {
		return nil
	}
	return unix.UtimesNanoAt(below, j.o.Temp, []unix.Timespec{op.up.Atim, op.up.Mtim}, unix.AT_SYMLINK_NOFOLLOW)
}

// copySparse copies a file and leaves its holes.
func copySparse(out, in *os.File) error {
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if err := unix.IoctlFileClone(int(out.Fd()), int(in.Fd())); err == nil {
		return nil
	}
	for at := int64(0); at < info.Size(); {
		data, err := unix.Seek(int(in.Fd()), at, unix.SEEK_DATA)
		if err == unix.ENXIO {
			break // a hole up to the end
		}
		if err != nil {
			return err
		}
		hole, err := unix.Seek(int(in.Fd()), data, unix.SEEK_HOLE)
		if err != nil {
			return err
		}
		if _, err := in.Seek(data, io.SeekStart); err != nil {
			return err
		}
		if _, err := out.Seek(data, io.SeekStart); err != nil {
			return err
		}
		if _, err := io.CopyN(out, in, hole-data); err != nil {
			return err
		}
		at = hole
	}
	return out.Truncate(info.Size())
}

// copyXattrs copies what a user set on a file. File systems without them go
// without.
func copyXattrs(to, from int) {
	list := make([]byte, 1<<12)
	n, err := unix.Flistxattr(from, list)
	if err != nil {
		return
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(list[:n]), "\x00"), "\x00") {
		if strings.HasPrefix(name, "user.overlay.") || name == "" {
			continue
		}
		value := make([]byte, 1<<16)
		if n, err := unix.Fgetxattr(from, name, value); err == nil {
			_ = unix.Fsetxattr(to, name, value[:n], 0)
		}
	}
}
