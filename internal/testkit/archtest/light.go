package archtest

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// Light is what a program gets into its build that imports some packages of the library.
type Light struct {
	Dirs    []string // the packages
	Modules []string // what they may depend on, also through others
}

// Lights keeps the library light: what a server needs, such as huma, tusd, pgx, minio, franz-go and the stores on disk
// and in Redis, is not in the build of a program that imports none of it.
var Lights = []Light{
	{Dirs: []string{".", "store", "api"}},
	{
		Dirs: []string{"engine", "operate", "report", "store/memstore"},
		Modules: []string{
			"github.com/HdrHistogram/hdrhistogram-go", "github.com/beorn7/perks", "github.com/cespare/xxhash/v2",
			"github.com/go-json-experiment/json", "github.com/klauspost/compress", "github.com/klauspost/cpuid/v2",
			"github.com/munnerz/goautoneg", "github.com/oklog/ulid/v2", "github.com/prometheus/client_golang",
			"github.com/prometheus/client_model", "github.com/prometheus/common", "github.com/prometheus/procfs",
			"github.com/zeebo/xxh3", "go.yaml.in/yaml/v2", "golang.org/x/sync", "golang.org/x/sys", "golang.org/x/text",
			"google.golang.org/protobuf",
		},
	},
	{
		Dirs:    []string{"client"},
		Modules: []string{"github.com/go-json-experiment/json", "github.com/klauspost/compress", "github.com/oklog/ulid/v2"},
	},
}

// CheckLight reports packages whose build has a module that it may not have.
func CheckLight(root, module string, all []Light) (out []Violation, err error) {
	for _, l := range all {
		for _, dir := range l.Dirs {
			got, err := modulesOf(root, dir)
			if err != nil {
				return nil, err
			}
			for _, m := range got {
				if m != module && !slices.Contains(l.Modules, m) {
					out = append(out, Violation{dir, "its build has " + m + ", which archtest.Lights does not allow it"})
				}
			}
		}
	}
	return out, nil
}

// modulesOf lists the modules that have a package in the build of the package in dir.
func modulesOf(root, dir string) ([]string, error) {
	cmd := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "./"+dir)
	cmd.Dir = root
	raw, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list -deps %s: %w", dir, err)
	}
	all := strings.Fields(string(raw))
	slices.Sort(all)
	return slices.Compact(all), nil
}
