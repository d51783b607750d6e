package archtest

import "testing"

func TestShippedPackagesBuildForEverySystem(t *testing.T) {
	tree := repository(t)
	for _, s := range Systems {
		t.Run(s.OS+"-"+s.Arch, func(t *testing.T) {
			vs, err := CheckSystem(tree.Root, s, Shipped...)
			if err != nil {
				t.Fatal(err)
			}
			mustHold(t, vs)
		})
	}
}

func TestSystemRuleFindsPlantedCode(t *testing.T) {
	root := write(t, "go.mod", "module example.test/weir\n\ngo 1.26.0\n",
		"wide.go", "package weir\n\nvar wide int = 1 << 40\n",
		"stop.go", "package weir\n\nimport \"syscall\"\n\nvar stop = syscall.SIGSTOP\n",
		"clock_darwin.go", "package weir\n\nfunc clock() int { return missing }\n")
	for _, tt := range []struct {
		system  System
		phrases []string
	}{
		{System{"linux", "amd64"}, nil},
		{System{"linux", "386"}, []string{"wide.go:3: does not build for linux/386: cannot use 1 << 40"}},
		{System{"windows", "amd64"}, []string{"stop.go:5: does not build for windows/amd64: undefined: syscall.SIGSTOP"}},
		{System{"darwin", "arm64"}, []string{"clock_darwin.go:3: does not build for darwin/arm64: undefined: missing"}},
	} {
		t.Run(tt.system.OS+"-"+tt.system.Arch, func(t *testing.T) {
			vs, err := CheckSystem(root, tt.system, ".")
			if err != nil {
				t.Fatal(err)
			}
			mustFind(t, vs, tt.phrases...)
		})
	}
}
