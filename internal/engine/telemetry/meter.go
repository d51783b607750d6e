package telemetry

import (
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"
)

// LoadMeter measures how much of its processors and memory this process uses.
type LoadMeter struct {
	at     time.Time
	cpu    time.Duration
	limit  uint64 // bytes of memory that it may use; 0: not known
	sample []metrics.Sample
}

// NewLoadMeter makes a meter that measures from now on.
func NewLoadMeter() *LoadMeter {
	return &LoadMeter{
		at: time.Now(), cpu: processorTime(), limit: memoryLimit(),
		sample: []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}},
	}
}

// Read returns the shares in use since the last read, from 0 to 1. What cannot
// be known is 0.
func (m *LoadMeter) Read(now time.Time) (cpu, memory float64) {
	used := processorTime()
	if span := now.Sub(m.at); span > 0 {
		cpu = min(float64(used-m.cpu)/float64(span)/float64(runtime.GOMAXPROCS(0)), 1)
	}
	m.at, m.cpu = now, used
	metrics.Read(m.sample)
	if m.limit > 0 {
		memory = float64(m.sample[0].Value.Uint64()-m.sample[1].Value.Uint64()) / float64(m.limit)
	}
	return cpu, memory
}

// memoryLimit is the least of the limits that this process knows of: Go's own,
// the control group's, and the machine's memory.
func memoryLimit() uint64 {
	limit := uint64(math.MaxUint64)
	if own := debug.SetMemoryLimit(-1); own > 0 && own != math.MaxInt64 {
		limit = uint64(own)
	}
	if raw, err := os.ReadFile("/sys/fs/cgroup/memory.max"); err == nil {
		if n, err := strconv.ParseUint(strings.TrimSpace(string(raw)), 10, 64); err == nil {
			limit = min(limit, n)
		}
	}
	if raw, err := os.ReadFile("/proc/meminfo"); err == nil {
		if f := strings.Fields(string(raw)); len(f) > 1 && f[0] == "MemTotal:" {
			if kib, err := strconv.ParseUint(f[1], 10, 54); err == nil {
				limit = min(limit, kib<<10)
			}
		}
	}
	if limit == math.MaxUint64 {
		return 0
	}
	return limit
}
