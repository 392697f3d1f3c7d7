package overlay

import (
	"io"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"github.com/adroit-run/adroit/internal/system/rootfs"
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
		rootfs.SetAttrs(int(out.Fd()), rootfs.AttrsAt(above, name))
		err = unix.Fchmod(int(out.Fd()), op.up.Mode&0o7777)
	}
	if err == nil {
		err = rootfs.SetTimesAt(below, name, op.up.Atim, op.up.Mtim)
	}
	return j.used(op, above, name, err)
}

// write notes which file is being overwritten, and writing is the one that was
// when a join was killed: its content is the join's own.
func (j *joiner) write(p string) error {
	return rootfs.WriteScratch(j.o.dir+"/writing", 0o600, []byte(p)) // of use after a kill, not after a power cut
}

func (j *joiner) writing() string {
	b, err := os.ReadFile(j.o.dir + "/writing")
	if err != nil {
		return ""
	}
	return string(b)
}

func openat(dir int, name string, flags int) (*os.File, error) {
	fd, err := rootfs.OpenAt(dir, name, flags|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// A place is the path and the identity of a file of the workspace.
type place struct {
	path string
	id   rootfs.ID
}

// link makes the temporary file another name of a file of the workspace, if that
// is still where it was.
func (j *joiner) link(first place, below int) error {
	dir, err := j.parent(j.root, first.path)
	if err == unix.ELOOP || err == unix.ENOTDIR || err == unix.EXDEV {
		return rootfs.ErrAnother
	}
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	fd, err := rootfs.OpenSame(dir, path.Base(first.path), first.id)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return rootfs.LinkFile(fd, below, j.o.Temp)
}

// copyHere makes the temporary file in the workspace's directory, for a layer on
// another file system.
func (j *joiner) copyHere(op *operation, from int, src string, below int) error {
	_ = rootfs.UnlinkAt(below, j.o.Temp, 0)
	switch op.up.Mode & unix.S_IFMT {
	case unix.S_IFLNK:
		to, err := rootfs.LinkAt(from, src)
		if err != nil {
			return err
		}
		return rootfs.SymlinkAt(to, below, j.o.Temp)
	case unix.S_IFREG:
	default: // a FIFO or socket, which has no content
		return rootfs.MknodAt(below, j.o.Temp, op.up.Mode)
	}
	if op.up.Nlink > 1 { // the other name may be here already
		if first, ok := j.linked[op.up.Ino]; ok {
			if err := j.link(first, below); err == nil {
				return nil
			}
		}
	}
	in, err := openat(from, src, unix.O_RDONLY)
	if err != nil {
		return err
	}
	defer in.Close()
	fd, err := rootfs.OpenAt(below, j.o.Temp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	var made unix.Stat_t
	if err := unix.Fstat(fd, &made); err != nil {
		unix.Close(fd)
		return err
	}
	if op.up.Nlink > 1 {
		j.linked[op.up.Ino] = place{op.path, rootfs.FileID(&made)}
	}
	out := os.NewFile(uintptr(fd), j.o.Temp)
	defer out.Close()
	if err := copySparse(out, in); err != nil {
		// The room is for the next file, also while a process that another goroutine
		// is starting has this one open.
		_ = out.Truncate(0)
		return err
	}
	rootfs.SetAttrs(fd, rootfs.AttrsAt(from, src))
	if err := unix.Fchmod(fd, op.up.Mode&0o7777); err != nil {
		return err
	}
	if op.merged != "" {
		return nil
	}
	return rootfs.SetTimesAt(below, j.o.Temp, op.up.Atim, op.up.Mtim)
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
