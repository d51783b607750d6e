// Package weirogen is where the generated client goes. It is not kept: the script makes it anew from the document that
// the server has.
package weirogen
