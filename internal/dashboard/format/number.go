package format

import (
	"math"
	"strconv"
)

// nb is a space at which no line breaks; it is before every unit.
const nb = "\u00a0"

// Count writes a whole number with commas: 999,412.
func Count(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, s = "−", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

// Items writes a number of items: 1 item, 12,004 items.
func Items(n int64) string { return Plural(n, "item", "items") }

// Plural writes a number and its noun.
func Plural(n int64, one, many string) string {
	if n == 1 {
		return Count(n) + nb + one
	}
	return Count(n) + nb + many
}

// Share writes a part of a whole in per cent. It is cut and never rounded up, so that 100 % means
// all of it and 0 % none: one decimal, and two close to either end. A whole below 1,000 has none, except close to the
// ends: the decimal would promise more than such a number of items can tell.
func Share(part, whole int64) string {
	switch {
	case whole <= 0 || part <= 0:
		return "0" + nb + "%"
	case part >= whole:
		return "100" + nb + "%"
	}
	if p := float64(part) / float64(whole); whole >= 1000 || p < 0.01 || p > 0.99 {
		return Percent(p)
	}
	return strconv.FormatInt(part*100/whole, 10) + nb + "%"
}

// Percent writes a share between 0 and 1 as Share does.
func Percent(share float64) string {
	switch p := share * 100; {
	case p <= 0 || math.IsNaN(p):
		return "0" + nb + "%"
	case p >= 100:
		return "100" + nb + "%"
	case p < 0.01:
		return "under 0.01" + nb + "%"
	case p < 0.1 || p > 99.9:
		return strconv.FormatFloat(cut(p, 100), 'f', 2, 64) + nb + "%"
	default:
		return strconv.FormatFloat(cut(p, 10), 'f', 1, 64) + nb + "%"
	}
}

// cut drops what comes after the decimals. Shares such as 0.29 have no exact binary form, hence
// the small addition.
func cut(p, decimals float64) float64 { return math.Floor(p*decimals+1e-9) / decimals }

// Rate writes items per second: 299/s, 0.5/s.
func Rate(perSecond float64) string {
	switch {
	case math.IsInf(perSecond, 1):
		return "unlimited"
	case perSecond <= 0 || math.IsNaN(perSecond):
		return "0/s"
	case perSecond < 10:
		return strconv.FormatFloat(math.Round(perSecond*10)/10, 'f', -1, 64) + "/s"
	}
	return Count(int64(math.Round(perSecond))) + "/s"
}

// Speed writes a speed that was measured or forecast: of a large one three digits, it tells no more.
func Speed(perSecond float64) string {
	if perSecond >= 10_000 && !math.IsInf(perSecond, 1) {
		unit := math.Pow(10, math.Floor(math.Log10(perSecond))-2)
		perSecond = math.Round(perSecond/unit) * unit
	}
	return Rate(perSecond)
}

// Bytes writes a size: 340 B, 1.2 MB.
func Bytes(n int64) string {
	const step = 1000
	if n < step {
		return Count(n) + nb + "B"
	}
	size, unit := float64(n), 0
	for ; size >= step && unit < 4; unit++ {
		size /= step
	}
	digits := 1
	if size >= 100 {
		digits = 0
	}
	return strconv.FormatFloat(size, 'f', digits, 64) + nb + [...]string{"B", "kB", "MB", "GB", "TB"}[unit]
}
