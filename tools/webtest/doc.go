// Package webtest drives the pages of a real server with a real browser: every page, whole campaigns, people who use
// the keyboard only, hostile texts, and servers that are killed. It checks the pages with axe-core and takes the
// pictures of the documentation.
//
// It is a module of its own: who embeds weir does not get a browser driver. testdata/axe.min.js is axe-core 4.14.0
// as published, under the Mozilla Public License 2.0; it is used by these tests alone.
package webtest
