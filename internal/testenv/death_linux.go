package testenv

import (
	"os/exec"
	"syscall"
)

// endWithParent has the system end the process when the one that started it dies, however it dies.
func endWithParent(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
