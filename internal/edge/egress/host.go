package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/net/idna"
)

// names maps host names as browsers do, which turns full-width and circled digits
// into digits. Underscores and odd hyphens are common in names that work.
var names = idna.New(idna.MapForLookup(), idna.StrictDomainName(false), idna.CheckHyphens(false), idna.BidiRule(),
	idna.VerifyDNSLength(true))

// nameChars lists the characters of a host name in its ASCII form.
const nameChars = "abcdefghijklmnopqrstuvwxyz0123456789-_."

// asciiName returns a host name in the form that name servers use.
func asciiName(host string) (string, error) {
	name, dot := strings.CutSuffix(host, ".")
	ascii, err := names.ToASCII(name)
	if err != nil {
		return "", fmt.Errorf("host: %w", err)
	}
	// Full-width signs become ASCII signs here, and @, : or / would change the meaning of the
	// URL.
	if strings.ContainsFunc(ascii, func(r rune) bool { return !strings.ContainsRune(nameChars, r) }) {
		return "", errors.New("host: a sign that names do not have")
	}
	if dot {
		ascii += "."
	}
	return ascii, nil
}

// isNumber reports whether a name ends in a number. No top-level domain does, so lenient
// address parsers take such a name for an address.
func isNumber(name string) bool {
	name = strings.TrimSuffix(name, ".")
	last := name[strings.LastIndexByte(name, '.')+1:]
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}

// looseIPv4 parses the old forms of an address: one to four numbers, decimal, octal or
// hexadecimal, of which the last fills all remaining bytes.
func looseIPv4(name string) (netip.Addr, bool) {
	parts := strings.Split(strings.TrimSuffix(name, "."), ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var value uint64
	for i, part := range parts {
		bits := 8
		if i == len(parts)-1 {
			bits = 8 * (4 - i)
		}
		n, err := parseLoose(part)
		if err != nil || n >= 1<<bits {
			return netip.Addr{}, false
		}
		value = value<<bits | n
	}
	return netip.AddrFrom4([4]byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}), true
}

func parseLoose(part string) (uint64, error) {
	hex, isHex := strings.CutPrefix(part, "0x")
	switch {
	case isHex && hex == "":
		return 0, nil
	case isHex:
		return strconv.ParseUint(hex, 16, 64)
	case len(part) > 1 && part[0] == '0':
		return strconv.ParseUint(part, 8, 64)
	}
	return strconv.ParseUint(part, 10, 64)
}

// together lists scripts that one word may mix, as languages do; any other mix serves to
// imitate a word of one script.
var together = [][]string{
	{"Latin", "Han", "Hiragana", "Katakana"},
	{"Latin", "Han", "Bopomofo"},
	{"Latin", "Han", "Hangul"},
}

// twins lists letters that many fonts draw like Latin ones, by script.
var twins = map[string]string{
	"Cyrillic": "асԁеһіјӏорԛѕԝхуьвнкмтгпё",
	"Greek":    "αικνορυωηγτχ",
}

// lookAlike returns what makes a name look like another one; it is empty for other names. The
// name is well-formed and in ASCII form.
func lookAlike(name string) string {
	shown, err := names.ToUnicode(strings.TrimSuffix(name, "."))
	if err != nil {
		return "is not a valid international name"
	}
	labels := strings.Split(shown, ".")
	latinTop := isASCII(labels[len(labels)-1])
	for _, label := range labels {
		if isASCII(label) {
			continue
		}
		found := scripts(label)
		if len(found) > 1 && !mayMix(found) {
			return "mixes " + strings.Join(found, " and ") + " letters in one word"
		}
		if latinTop && len(found) == 1 && twins[found[0]] != "" && strings.Trim(label, twins[found[0]]+"0123456789-") == "" {
			return "is written in " + found[0] + " letters that look like Latin ones"
		}
	}
	return ""
}

func mayMix(found []string) bool {
	return slices.ContainsFunc(together, func(set []string) bool {
		return !slices.ContainsFunc(found, func(s string) bool { return !slices.Contains(set, s) })
	})
}

// scripts lists the scripts of a word, sorted, without signs that all share.
func scripts(label string) []string {
	var found []string
	for _, r := range label {
		for name, table := range unicode.Scripts {
			if name != "Common" && name != "Inherited" && unicode.Is(table, r) && !slices.Contains(found, name) {
				found = append(found, name)
			}
		}
	}
	slices.Sort(found)
	return found
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII })
}
