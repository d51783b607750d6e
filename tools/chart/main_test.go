package chart

import (
	"io"
	"log"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	log.SetOutput(io.Discard) // Helm tells of each link that it follows
	os.Exit(m.Run())
}
