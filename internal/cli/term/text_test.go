package term

import (
	"testing"
	"time"
)

func TestNumbersForPeople(t *testing.T) {
	for got, want := range map[string]string{
		Number(0): "0", Number(999): "999", Number(1000): "1,000", Number(-1234567): "-1,234,567",
		Span(640 * time.Millisecond): "640ms", Span(4230 * time.Millisecond): "4.2s", Span(35*time.Minute + 19*time.Second): "35m19s",
		Span(125*time.Minute + 20*time.Second): "2h05m", Span(80 * time.Microsecond): "80µs",
		PerSecond(1234.4): "1,234/s", PerSecond(0.5): "0.5/s", PerSecond(0): "0/s",
		PerSecond(9.96): "10/s", PerSecond(3): "3/s", PerSecond(1.0 / 86400): "0.000012/s",
		Percent(999, 1000): "99%", Percent(1, 0): "0%",
		ExactPercent(99999, 100000): "99.99%", ExactPercent(5, 5): "100%",
		Plural(1, "row", "rows"): "1 row", Plural(2, "row", "rows"): "2 rows",
		Quote("out/x.csv"): "out/x.csv", Quote("my dir's"): `'my dir'\''s'`,
		Fit("\x1b[31mabcdef\x1b[0m", 4): "\x1b[31mabc…\x1b[0m", Fit("abc", 3): "abc",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
