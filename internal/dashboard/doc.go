// Package dashboard is weir's pages for people: complete HTML from templates, which work without
// script. It is a client of the API in the same process: a page can do nothing that a program
// cannot, and a key may see and do the same in both.
package dashboard
