package main

import "syscall"

// die makes a child end when this program is killed, and keeps Ctrl-C from it: we end it ourselves, in order.
func die() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
