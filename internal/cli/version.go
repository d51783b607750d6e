package cli

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/pflag"
)

func versionCommand() command {
	return command{
		use: "version", short: "print the version", args: between(0, 0, ""),
		bind: func(*pflag.FlagSet) runner {
			return func(_ context.Context, env *Env, _ []string) error {
				_, err := fmt.Fprintf(env.Stdout, "%s %s (%s, %s/%s)\n", env.Program, version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
				return err
			}
		},
	}
}

// version returns the version that the build recorded.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "unknown"
	}
	return info.Main.Version
}
