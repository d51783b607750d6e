#!/bin/sh
# Makes what a release contains beside the program: release-files.sh DIR
set -eu
out=$1
mkdir -p "$out/completions"
go run ./cmd/weir man "$out/man1"
for shell in bash zsh fish powershell; do
  go run ./cmd/weir completion "$shell" >"$out/completions/weir.$shell"
done
