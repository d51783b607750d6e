// Package weirapi is where the generated client goes. The generator's output is
// not kept: the test makes it anew from the document that the server has.
package weirapi

import _ "github.com/oapi-codegen/runtime" // of which generated code makes use
