// Package endpoints holds HTTP actions in Python, Node.js, Java and PHP, each in one file, and a test that sends hostile
// requests to each of them.
package endpoints
