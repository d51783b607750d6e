package fault

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// maxNormal bounds a normalised message, in bytes; failures that differ only behind it are one group.
const maxNormal = 300

// maxRead bounds how much of a message is looked at, in bytes.
const maxRead = 4 << 10

// AppendNormal appends message without what differs from item to item: numbers become <n>, uuids, hex and other long ids
// <id>, e-mail addresses <email>. Quoted text stays, but for the same inside it: it often is the cause, as in a JSON
// body or the name of a field. So does an HTTP status at the beginning or after "answered", "status" or
// "code". White space is made single.
func AppendNormal(dst []byte, message string) []byte {
	start := len(dst)
	message = message[:min(len(message), maxRead)]
	for i := 0; i < len(message) && len(dst)-start < maxNormal; {
		switch c := message[i]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == 0:
			if len(dst) > start && dst[len(dst)-1] != ' ' {
				dst = append(dst, ' ')
			}
			i++
		case isWord(c):
			end := wordEnd(message, i)
			if m := mailEnd(message, i, end); m > 0 {
				dst = append(dst, "<email>"...)
				i = m
				break
			}
			if isStatus(message, i, end) {
				dst = append(dst, message[i:end]...)
			} else {
				dst = appendWord(dst, message[i:end])
			}
			i = end
		default:
			_, n := utf8.DecodeRuneInString(message[i:])
			dst = append(dst, message[i:i+n]...)
			i += n
		}
	}
	return cutText(bytes.TrimRight(dst[start:], " "), dst[:start])
}

// Cut shortens text to at most n bytes, between two characters.
func Cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

// cutText appends text to dst, cut at maxNormal between two characters.
func cutText(text, dst []byte) []byte {
	if len(text) <= maxNormal {
		return append(dst, text...)
	}
	n := maxNormal
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return append(append(dst, text[:n]...), "…"...)
}

// statusWords come before an HTTP status.
var statusWords = []string{"answered", "status", "code", "http", "returned"}

// isStatus reports whether message[i:end] is an HTTP status: three digits at the
// beginning, or after a word that says so.
func isStatus(message string, i, end int) bool {
	if end-i != 3 || message[i] < '1' || message[i] > '5' || !isDigit(message[i+1]) || !isDigit(message[i+2]) {
		return false
	}
	before := strings.TrimRight(message[max(0, i-20):i], " :=\"")
	if before == "" {
		return true
	}
	for _, w := range statusWords {
		if n := len(before) - len(w); n >= 0 && strings.EqualFold(before[n:], w) {
			return true
		}
	}
	return false
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }

func isWord(c byte) bool {
	return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c >= utf8.RuneSelf
}

// wordEnd is the end of the word at i: letters, digits, _ and inner hyphens, and dots and commas inside numbers.
func wordEnd(s string, i int) int {
	for ; i < len(s); i++ {
		inner := i > 0 && i+1 < len(s)
		switch c := s[i]; {
		case isWord(c):
		case c == '-' && inner && isWord(s[i-1]) && isWord(s[i+1]):
		case (c == '.' || c == ',') && inner && isDigit(s[i-1]) && isDigit(s[i+1]):
		default:
			return i
		}
	}
	return i
}

// mailEnd is the end of an e-mail address whose first word is s[i:end], or 0.
func mailEnd(s string, i, end int) int {
	at := i
	for at < len(s) && (isWord(s[at]) || s[at] == '.' || s[at] == '+' || s[at] == '-') {
		at++
	}
	if at == len(s) || s[at] != '@' || at < end {
		return 0
	}
	stop := at + 1
	for stop < len(s) && (isWord(s[stop]) || s[stop] == '.' && stop+1 < len(s) && isWord(s[stop+1]) || s[stop] == '-') {
		stop++
	}
	if strings.IndexByte(s[at:stop], '.') < 0 {
		return 0
	}
	return stop
}

// appendWord appends one word, or what stands for it.
func appendWord(dst []byte, word string) []byte {
	if isUUID(word) {
		return append(dst, "<id>"...)
	}
	for len(word) > 0 {
		n := 0
		for n < len(word) && word[n] != '-' && word[n] != '_' {
			n++
		}
		if n == 0 {
			dst = append(dst, word[0])
			word = word[1:]
			continue
		}
		dst = appendPart(dst, word[:n])
		word = word[n:]
	}
	return dst
}

// appendPart appends a part of a word: an id if it is long and mixed, else the letters with each number replaced.
func appendPart(dst []byte, part string) []byte {
	digits, hex, only := 0, true, true
	for i := range len(part) {
		if isDigit(part[i]) {
			digits++
		}
		number := isDigit(part[i]) || part[i] == '.' || part[i] == ','
		only = only && number
		hex = hex && isHex(part[i])
	}
	switch {
	case digits == 0:
		return append(dst, part...)
	case only:
		return append(dst, "<n>"...)
	case hex && len(part) >= 8, digits >= 2 && len(part) >= 12, strings.HasPrefix(part, "0x"):
		return append(dst, "<id>"...)
	}
	for i := 0; i < len(part); {
		if !isDigit(part[i]) {
			dst = append(dst, part[i])
			i++
			continue
		}
		dst = append(dst, "<n>"...)
		for i < len(part) && (isDigit(part[i]) || part[i] == '.' || part[i] == ',') {
			i++
		}
	}
	return dst
}

// isUUID knows the 8-4-4-4-12 form.
func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		if hyphen := i == 8 || i == 13 || i == 18 || i == 23; hyphen != (s[i] == '-') || !hyphen && !isHex(s[i]) {
			return false
		}
	}
	return true
}
