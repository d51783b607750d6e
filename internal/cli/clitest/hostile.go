package clitest

import (
	"strings"
)

// Hostile returns texts that try to be more than a value: a second line, a second key, or orders to a terminal.
func Hostile() []string {
	return []string{
		"a\nlevel=ERROR msg=forged", "a\r\n{\"level\":\"ERROR\",\"msg\":\"forged\"}", "\x1b[2J\x1b[31mforged\x1b[1A\r",
		"\x1b]0;forged\x07", "a\x00b",
		`","level":"ERROR","msg":"forged`, `x" msg=forged y="`, `\`, `\"`, "a\u0085msg=forged", "a\u009b31mforged", "a\u2028{\"msg\":\"forged\"}", "\u202edegrof", "\x7f\b\bforged",
		"not UTF-8 \xff\xfe\n", " = ", "", strings.Repeat("x", 1<<20) + "\nmsg=forged",
	}
}
