package pgtest

import "syscall"

// pause stops every process of the server and returns when each has stopped.
func (c *cluster) pause() error {
	// The first process comes first: once it has stopped, no more children are born behind our back.
	first := []process{{pid: c.postgres.pid}}
	if err := signalAll(first, syscall.SIGSTOP); err != nil {
		return err
	}
	if err := c.untilFamily("the first process stops", func(p process) bool {
		return p.stopped() || p.pid != c.postgres.pid
	}); err != nil {
		return err
	}
	members, err := family(c.postgres.pid)
	if err != nil {
		return err
	}
	if err := signalAll(members, syscall.SIGSTOP); err != nil {
		return err
	}
	return c.untilFamily("all processes stop", process.stopped)
}

// resume undoes pause.
func (c *cluster) resume() error {
	members, err := family(c.postgres.pid)
	if err != nil {
		return err
	}
	if err := signalAll(members, syscall.SIGCONT); err != nil {
		return err
	}
	return c.untilFamily("all processes go on", func(p process) bool { return !p.stopped() })
}

// untilFamily waits until something holds for every living process of the server.
func (c *cluster) untilFamily(what string, holds func(process) bool) error {
	return until(what, func() (bool, error) {
		members, err := family(c.postgres.pid)
		if err != nil {
			return false, err
		}
		for _, member := range members {
			if !holds(member) {
				return false, nil
			}
		}
		return true, nil
	})
}
