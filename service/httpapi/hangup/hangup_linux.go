package hangup

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Possible tells whether connections can be watched: on Linux, unless the process has no descriptor left. What was possible
// once stays so.
func Possible() bool {
	_, err := all.get()
	return err == nil
}

// Watch calls gone, once and from a goroutine that must not be blocked, when the other end of a connection closes it, or its
// sending half, whatever it has sent before; at once if it has already. After forget gone is not called any more, but
// perhaps for a call that has begun. forget is called before the connection is closed. An error says that the connection
// cannot be watched.
func Watch(conn net.Conn, gone func()) (forget func(), err error) {
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return nil, fmt.Errorf("a connection of the type %T cannot be watched", conn)
	}
	w, err := all.get()
	if err != nil {
		return nil, err
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return nil, err
	}
	number := w.add(gone)
	var refused error
	if err := raw.Control(func(fd uintptr) { refused = w.watch(int(fd), number) }); err != nil || refused != nil {
		w.forget(number)
		return nil, errors.Join(err, refused)
	}
	return func() { w.forget(number) }, nil
}

// all watches all connections of the process.
var all onDemand

// onDemand is a watcher that is made when it is needed first. A failure is not remembered: descriptors come back.
type onDemand struct {
	mu   sync.Mutex
	made *watcher
}

func (o *onDemand) get() (*watcher, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.made == nil {
		epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
		if err != nil {
			return nil, fmt.Errorf("watching connections: %w", err)
		}
		o.made = &watcher{epoll: epoll, watched: map[uint64]func(){}}
		go o.made.run()
	}
	return o.made, nil
}

// watcher asks epoll(7), which forgets a connection when it is closed. A connection is known by a number that never comes
// back, not by its descriptor, which does.
type watcher struct {
	epoll int

	mu      sync.Mutex
	last    uint64
	watched map[uint64]func()
}

func (w *watcher) add(gone func()) (number uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last++
	w.watched[w.last] = gone
	return w.last
}

func (w *watcher) forget(number uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.watched, number)
}

func (w *watcher) watch(fd int, number uint64) error {
	return unix.EpollCtl(w.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{
		Events: unix.EPOLLRDHUP | unix.EPOLLONESHOT, // and EPOLLHUP, EPOLLERR, which always are
		Fd:     int32(number), Pad: int32(number >> 32),
	})
}

func (w *watcher) run() {
	events := make([]unix.EpollEvent, 256)
	for {
		n, err := unix.EpollWait(w.epoll, events, -1)
		if err != nil && !errors.Is(err, unix.EINTR) {
			panic(fmt.Sprintf("watching connections: %v", err)) // the descriptor is ours, and is never closed
		}
		for _, e := range events[:max(n, 0)] {
			if gone := w.take(uint64(uint32(e.Fd)) | uint64(uint32(e.Pad))<<32); gone != nil {
				gone()
			}
		}
	}
}

func (w *watcher) take(number uint64) (gone func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	gone = w.watched[number]
	delete(w.watched, number)
	return gone
}
