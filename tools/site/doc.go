// Site builds the documentation as a static site: site -root ROOT -out DIR.
//
// The pages are the Markdown files of docs and those at the top of the repository, at the same paths with the ending
// .html. The navigation is docs/README.md: its headings, and the pages that its tables link to. The build fails for a
// link or an anchor that leads nowhere, a picture that is missing, and a page that the navigation does not have. Links
// to sources lead to the repository. Addresses of other sites are listed, and not called.
//
// The site asks no other host. Its search is an index in a file, and a small script.
//
// It is a module of its own: programs that embed weir do not get a Markdown parser.
package main
