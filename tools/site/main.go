package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	root := flag.String("root", ".", "the repository")
	out := flag.String("out", "out/site", "the directory to write, which is emptied first")
	external := flag.Bool("external", false, "list the addresses of other sites")
	flag.Parse()
	s, err := Build(*root, *out)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("%d pages, %d sections in the search, %d links checked; %d addresses of other sites, not called\n", len(s.pages), len(s.index), s.checked, len(s.external))
	if *external {
		for _, address := range s.external {
			fmt.Println(address)
		}
	}
}
