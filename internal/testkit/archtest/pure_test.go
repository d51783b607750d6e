package archtest

import (
	"path"
	"slices"
	"testing"
)

func TestCoreIsPure(t *testing.T) {
	tree := repository(t)
	var present []*Package
	var paths []string
	for _, p := range tree.Packages {
		if slices.Contains(Core, p.Dir) && len(p.Code()) > 0 {
			present, paths = append(present, p), append(paths, path.Join(tree.Module, p.Dir))
		}
	}
	if len(present) == 0 {
		return // nothing of the core is there yet: go list would take no name for the present directory
	}
	e, err := listExports(tree.Root, paths...)
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range present {
		mustHold(t, CheckPure(p, Kinds(p, paths[i], e)))
	}
}

func TestPureRuleFindsPlantedImpurity(t *testing.T) {
	e, err := listExports(".", "context", "fmt", "log/slog", "maps", "math/rand/v2", "os", "slices", "sync/atomic", "time")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		text string
		want []string
	}{
		{"a goroutine", `func f() { go f() }`, []string{"no goroutine"}},
		{"a channel is made", `func f() { _ = make(chan int) }`, []string{"no channel"}},
		{"a channel is sent on", `func f(c chan<- int) { c <- 1 }`, []string{"no channel", "sends"}},
		{"a channel is received from", `func f(c <-chan int) { <-c }`, []string{"no channel", "receives"}},
		{"a channel is walked over", `func f(c <-chan int) { for range c {} }`, []string{"no channel", "receives"}},
		{"a select", `func f() { select {} }`, []string{"does not select"}},
		{"the clock is read", `import "time"; func f() time.Time { return time.Now() }`, []string{"time.Now"}},
		{"the clock is read under another name", `import clock "time"; func f() { clock.Sleep(1) }`, []string{"time.Sleep"}},
		{"the clock is passed on as a value", `import "time"; var f = time.Now`, []string{"time.Now"}},
		{"a timer", `import "time"; func f() { time.NewTimer(1) }`, []string{"time.NewTimer"}},
		{"time as a value is fine", `import "time"; func f(now time.Time) time.Time { return now.Add(time.Second) }`, nil},
		{"a lock", `import "sync/atomic"; var n atomic.Int64`, []string{"import sync/atomic"}},
		{"a context", `import "context"; func f(context.Context) {}`, []string{"import context"}},
		{"a log", `import "log/slog"; func f() { slog.Info("x") }`, []string{"import log/slog"}},
		{"the system", `import "os"; func f() { os.Exit(1) }`, []string{"import os"}},
		{"printing", `import "fmt"; func f() { fmt.Println(1) }`, []string{"fmt.Println"}},
		{"printing without a package", `func f() { println(1) }`, []string{"prints nothing"}},
		{"making a text is fine", `import "fmt"; func f() string { return fmt.Sprint(1) }`, nil},
		{"global chance", `import "math/rand/v2"; func f() int { return rand.IntN(6) }`, []string{"global source"}},
		{"seeded chance is fine", `import "math/rand/v2"; func f(s uint64) int { return rand.New(rand.NewPCG(s, 0)).IntN(6) }`, nil},
		{"a map in its own order", `func f(m map[int]int) (s []int) { for k := range m { s = append(s, k) }; return }`, []string{"order of a map"}},
		{"a named map in its own order", "type set map[int]bool\nfunc f(m set) { for range m {} }", []string{"order of a map"}},
		{"a map behind a type parameter", `func f[M ~map[int]int](m M) { for range m {} }`, []string{"order of a map"}},
		{"a map with a reason above", "func f(m map[int]int) (n int) {\n// Summed up: order does not reach the result.\nfor _, v := range m { n += v }\nreturn }", nil},
		{"a map with a reason on the line", "func f(m map[int]int) (n int) {\nfor _, v := range m { // order does not reach the sum\nn += v }\nreturn }", nil},
		{"a reason two lines above is too far", "func f(m map[int]int) {\n// order does not reach anything\n_ = 1\nfor range m {}}", []string{"order of a map"}},
		{"a slice is fine", `func f(s []int) { for range s {} }`, nil},
		{"keys in the map's order", `import "maps"; func f(m map[int]int) { for range maps.Keys(m) {} }`, []string{"maps.Keys"}},
		{"keys sorted at once are fine", `import ("maps"; "slices"); func f(m map[int]int) []int { return slices.Sorted(maps.Keys(m)) }`, nil},
		{"what cannot be typed is not trusted", `func f() { for range nowhere {} }`, []string{"cannot tell"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := plant(t, "internal/core/sched/a.go", "package sched\n"+tt.text).Packages[0]
			mustFind(t, CheckPure(p, Kinds(p, "sched", e)), tt.want...)
		})
	}
}

func TestPureRuleLeavesTestsAlone(t *testing.T) {
	p := plant(t, "internal/core/sched/a_test.go", "package sched\nfunc f() { go f() }").Packages[0]
	mustFind(t, CheckPure(p, Kinds(p, "sched", nil)))
}
