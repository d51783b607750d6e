package webtest

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// weir is the program under test, chrome the browser that all tests share.
var (
	weir   string
	chrome context.Context
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "webtest")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	weir = filepath.Join(dir, "weir")
	build := exec.Command("go", "build", "-ldflags=-s", "-o", weir, "./cmd/weir")
	build.Dir, build.Stderr = filepath.Join("..", ".."), os.Stderr
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if err := build.Run(); err != nil {
		return 0, fmt.Errorf("build the server: %w", err)
	}
	program := os.Getenv("WEIR_CHROMIUM")
	if program == "" {
		program = "chromium"
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("hide-scrollbars", true), chromedp.UserDataDir(filepath.Join(dir, "chrome")))
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	defer cancel()
	ctx, stop := chromedp.NewContext(allocator, chromedp.WithErrorf(func(format string, args ...any) {
		if !strings.HasPrefix(format, "could not unmarshal event") { // a kind that the driver does not know yet
			log.Printf(format, args...)
		}
	}))
	defer stop()
	if err := chromedp.Run(ctx); err != nil {
		return 0, fmt.Errorf("start %s: %w; make deps installs it", program, err)
	}
	chrome = ctx
	return m.Run(), nil
}
