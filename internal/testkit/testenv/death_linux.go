package testenv

import (
	"os/exec"
	"syscall"
)

// endWithParent has the system end the process when the one that started it dies, however it dies.
func endWithParent(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// endAsGroup is endWithParent for a program that starts others: killGroup ends all of them.
func endAsGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// killGroup ends a started program and those that it started.
func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // they may be gone
