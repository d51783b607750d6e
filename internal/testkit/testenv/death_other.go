//go:build !linux

package testenv

import "os/exec"

// endWithParent does nothing here: a test that is killed leaves its servers behind.
func endWithParent(*exec.Cmd) {}

// endAsGroup does nothing here.
func endAsGroup(*exec.Cmd) {}

// killGroup ends a started program.
func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() } // it may be gone
