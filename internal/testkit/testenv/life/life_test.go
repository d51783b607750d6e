//go:build unix

package life_test

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/weirhq/weir/internal/testkit/testenv/life"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const role = "WEIR_LIFE_ROLE"

// TestProcess is run by the processes of the other tests. It does nothing in any other process.
func TestProcess(*testing.T) {
	switch os.Getenv(role) {
	case "waits":
		fmt.Println("ready at home")
		fmt.Println("health fair\nhealth good\nsettled")
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	case "fails":
		fmt.Fprintln(os.Stderr, "out of space")
		os.Exit(7)
	}
}

func start(t *testing.T, what string) *life.Process {
	return life.Start(t, "TestProcess", role+"="+what)
}

func TestAProcessIsKilled(t *testing.T) {
	p := start(t, "waits")
	if at, err := p.Await("ready"); at != "at home" || err != nil {
		t.Fatalf("Await = %q, %v", at, err)
	}
	if _, err := p.Await("settled"); err != nil || p.Last("health") != "good" || p.Last("never") != "" {
		t.Errorf("Last = %q and %q, %v; want good and nothing", p.Last("health"), p.Last("never"), err)
	}
	if err := p.Kill(); err != nil || p.Running() {
		t.Errorf("Kill() = %v, running: %v", err, p.Running())
	}
}

func TestAProcessEndsWithItsInput(t *testing.T) {
	p := start(t, "waits")
	if _, err := p.Await("ready"); err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(); err != nil {
		t.Errorf("Stop() = %v", err)
	}
}

func TestAProcessThatFailsTellsWhy(t *testing.T) {
	p := start(t, "fails")
	_, err := p.Await("ready")
	if life.Code(err) != 7 || !strings.Contains(err.Error(), "out of space") {
		t.Errorf("Await = %v, want exit code 7 and what it said", err)
	}
	if err := start(t, "fails").Kill(); err != nil && life.Code(err) != 7 {
		t.Errorf("Kill of one that ends by itself = %v", err)
	}
}

// TestAProcessLeftRunningIsEnded leaves one behind; goleak would see its goroutine.
func TestAProcessLeftRunningIsEnded(t *testing.T) {
	if _, err := start(t, "waits").Await("ready"); err != nil {
		t.Fatal(err)
	}
}
