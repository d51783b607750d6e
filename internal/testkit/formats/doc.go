// Package formats opens stores that earlier versions have written, one for each format in testdata, and ends their work.
//
// The stores are made by the program in make, with a weir of that format. When the number of the format is raised, keep
// one of the format before, made by the last commit that has it:
//
//	git worktree add ../before COMMIT && (cd ../before && go build -o ../weir-before ./cmd/weir)
//	go run ./internal/testkit/formats/make ../weir-before internal/testkit/formats/testdata/format4.tar.gz
//
// Format 2 is of commit 9ea94417, format 3 of the main branch before format 4, and format 4 of the commit that made it.
package formats
