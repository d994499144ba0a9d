package pgtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// A folder holds everything of one cluster. It is locked for as long as its owners live, the test
// process and the supervisor of the cluster; the kernel gives the lock back however they end. A folder
// that can be locked is therefore a leftover.
type folder struct {
	path string
	lock *os.File
}

// newFolder makes an empty folder that the account may write to, and removes leftovers on the way.
func newFolder(owner account) (*folder, error) {
	parent, err := openParent(owner)
	if err != nil {
		return nil, err
	}
	defer parent.Close()
	// A folder that is made but not yet locked looks like a leftover to others: they wait at the parent.
	if err := flock(parent, syscall.LOCK_EX); err != nil {
		return nil, fmt.Errorf("locking %s: %w", parent.Name(), err)
	}
	if err := removeLeftovers(parent.Name()); err != nil {
		return nil, err
	}
	path, err := os.MkdirTemp(parent.Name(), "cluster-")
	if err != nil {
		return nil, err
	}
	if err := os.Chown(path, owner.uid, owner.gid); err != nil {
		return nil, err
	}
	return lockFolder(path)
}

func (f *folder) join(name string) string { return filepath.Join(f.path, name) }

// remove deletes the folder, whose programs must have ended.
func (f *folder) remove() error {
	defer f.lock.Close()
	return os.RemoveAll(f.path)
}

// openParent opens the one folder under which all clusters of this user lie. Its name is the same for
// every run, because that is how a later run finds leftovers.
func openParent(owner account) (*os.File, error) {
	path := filepath.Join(os.TempDir(), "reprise-pgtest-"+strconv.Itoa(os.Getuid()))
	if err := os.Mkdir(path, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return nil, err
	}
	// The name can be guessed and the temporary folder is everybody's: refuse what others put there.
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	uid := int(info.Sys().(*syscall.Stat_t).Uid)
	if !info.IsDir() || (uid != os.Getuid() && uid != owner.uid) {
		return nil, fmt.Errorf("%s is not a folder of ours; remove it", path)
	}
	// The supervisor runs as the owner, and to remove a folder it must be able to write to its parent.
	if err := os.Chown(path, owner.uid, owner.gid); err != nil {
		return nil, err
	}
	return os.Open(path)
}

// removeLeftovers removes the folders that nobody holds, and what still runs in them.
func removeLeftovers(parent string) error {
	paths, err := filepath.Glob(filepath.Join(parent, "cluster-*"))
	if err != nil {
		return err
	}
	for _, path := range paths {
		leftover, err := lockFolder(path)
		if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, os.ErrNotExist) {
			continue // in use, or removed by its supervisor just now
		}
		if err != nil {
			return err
		}
		if err := errors.Join(endOrphans(path), leftover.remove()); err != nil {
			return fmt.Errorf("removing the leftover %s: %w", path, err)
		}
	}
	return nil
}

// lockFolder fails with EWOULDBLOCK if the folder has an owner.
func lockFolder(path string) (*folder, error) {
	dir, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := flock(dir, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		dir.Close()
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return &folder{path: path, lock: dir}, nil
}

func flock(file *os.File, how int) error {
	for {
		err := syscall.Flock(int(file.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
