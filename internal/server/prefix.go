package server

import (
	"path"
	"strings"
)

// taken are the first parts of our own paths: a prefix that begins with one could not be told from them.
var taken = map[string]bool{
	"v1": true, "ui": true, "docs": true, "problems": true, "openapi": true, "metrics": true, "healthz": true, "readyz": true,
}

// BadPrefix says what is wrong with a prefix, and what to do; both are empty if nothing is.
func BadPrefix(prefix string) (fault, fix string) {
	if prefix == "" {
		return "", ""
	}
	const form = "write it as in /bulk, with letters, digits, '-', '_' and '.', without a slash at the end"
	plain := strings.Trim(prefix, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./") == ""
	if !plain || prefix[0] != '/' || prefix == "/" || path.Clean(prefix) != prefix {
		return "is not the path of a prefix", form
	}
	first, _, _ := strings.Cut(prefix[1:], "/")
	if first, _, _ = strings.Cut(first, "."); taken[first] {
		return "begins like a path of the server itself", "choose another word than " + first
	}
	return "", ""
}
