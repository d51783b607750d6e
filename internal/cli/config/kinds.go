package config

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// Address is the address at which a server listens, as host:port. An empty host means all addresses of this machine.
type Address string

// Set reads it.
func (a *Address) Set(s string) error {
	host, port, err := net.SplitHostPort(s)
	if err != nil {
		return fmt.Errorf("%q is not an address; write it as in 127.0.0.1:8080", s)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Errorf("%q has no port between 0 and 65535; write it as in 127.0.0.1:8080", s)
	} else if strings.ContainsAny(host, " /@") {
		return fmt.Errorf("%q is not an address; write it as in 127.0.0.1:%d", s, n)
	}
	*a = Address(s)
	return nil
}

// String writes it.
func (a *Address) String() string { return string(*a) }

// Type is the word in help.
func (*Address) Type() string { return "HOST:PORT" }

// Local reports whether only this machine reaches it.
func (a *Address) Local() bool {
	host, _, _ := net.SplitHostPort(string(*a)) // Set has looked
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}

// Role is the role of a server.
type Role = Word[role]

// The roles.
const (
	RoleAll    Role = "all"
	RoleAPI    Role = "api"
	RoleWorker Role = "worker"
)

// Durability names the failures that an accepted item survives.
type Durability = Word[durability]

// The durabilities.
const (
	DurableDisk       Durability = "disk"
	DurableMemory     Durability = "memory"
	DurableReplicated Durability = "replicated"
)

// LogFormat is the format of the log.
type LogFormat = Word[logFormat]

// The formats.
const (
	LogAuto LogFormat = "auto" // text on a terminal, JSON elsewhere
	LogJSON LogFormat = "json"
	LogText LogFormat = "text"
)

// LogLevel is the least that is logged.
type LogLevel = Word[logLevel]

// Size is a number of bytes with its unit. 0: not set.
type Size int64

// units of sizes, the longest first.
var units = []struct {
	name  string
	bytes float64
}{
	{"KiB", 1 << 10},
	{"MiB", 1 << 20},
	{"GiB", 1 << 30},
	{"TiB", 1 << 40},
	{"kB", 1e3},
	{"KB", 1e3},
	{"MB", 1e6},
	{"GB", 1e9},
	{"TB", 1e12},
	{"B", 1},
}

// Set reads it.
func (z *Size) Set(s string) error {
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return fmt.Errorf("%s has no unit; write %sMiB", s, s)
	}
	for _, u := range units {
		number, ok := strings.CutSuffix(s, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || !(n > 0 && n*u.bytes < 1<<50) {
			break
		}
		*z = Size(n * u.bytes)
		return nil
	}
	return fmt.Errorf("%q is not a size; write it as in 8MiB or 2GiB", s)
}

// String writes it, in the greatest unit that gives a whole number.
func (z *Size) String() string {
	if *z == 0 {
		return ""
	}
	for i := 3; i >= 0; i-- {
		if u := Size(units[i].bytes); *z%u == 0 {
			return strconv.FormatInt(int64(*z/u), 10) + units[i].name
		}
	}
	return strconv.FormatInt(int64(*z), 10) + "B"
}

// Type is the word in help.
func (*Size) Type() string { return "SIZE" }

const day = 24 * time.Hour

// Age is a time span that may be given in days, at least an hour and at most 10 years. 0: not set.
type Age time.Duration

// Set reads it.
func (a *Age) Set(s string) error {
	var t time.Duration
	var err error
	if days, ok := strings.CutSuffix(s, "d"); ok {
		var n int
		if n, err = whole(days, 1, 3650, "write it as in 30d"); err != nil {
			return err
		}
		t = time.Duration(n) * day
	} else if t, err = parseDuration(s); err != nil {
		return err
	}
	if t < time.Hour || t > 3650*day {
		return fmt.Errorf("%s is not between 1h and 3650d", s)
	}
	*a = Age(t)
	return nil
}

// String writes it.
func (a *Age) String() string {
	if t := time.Duration(*a); t > 0 && t%day == 0 {
		return strconv.Itoa(int(t/day)) + "d"
	}
	return (*Duration)(a).String()
}

// Type is the word in help.
func (*Age) Type() string { return "SPAN" }

// Part is a number from 0 to 1.
type Part float64

// Set reads it.
func (p *Part) Set(s string) error {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v >= 0 && v <= 1) {
		return fmt.Errorf("%s is not between 0 and 1; write a tenth as 0.1", s)
	}
	*p = Part(v)
	return nil
}

// String writes it.
func (p *Part) String() string { return strconv.FormatFloat(float64(*p), 'f', -1, 64) }

// Type is the word in help.
func (*Part) Type() string { return "N" }

// Weight is a tenant's share beside others, above 0 and at most 1,000. 0: not set.
type Weight float64

// Set reads it.
func (w *Weight) Set(s string) error {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v > 0 && v <= 1000) {
		return fmt.Errorf("%s is not above 0 and at most 1000", s)
	}
	*w = Weight(v)
	return nil
}

// String writes it.
func (w *Weight) String() string {
	if *w == 0 {
		return ""
	}
	return strconv.FormatFloat(float64(*w), 'f', -1, 64)
}

// Type is the word in help.
func (*Weight) Type() string { return "N" }
