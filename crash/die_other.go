//go:build unix && !linux

package main

import "syscall"

// die keeps Ctrl-C from a child: we end it ourselves, in order. Only Linux can also tie its life to ours.
func die() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
