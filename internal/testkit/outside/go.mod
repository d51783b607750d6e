// A user's program: a module with another path, so that it can import what users can and nothing else.
// It is run by internal/testkit/archtest, which adds the modules that weir needs.
module example.test/outside

go 1.26.0

require github.com/weirhq/weir v0.0.0

replace github.com/weirhq/weir => ../../..
