#!/bin/sh
# Makes what a release contains beside the program: release-files.sh DIR
set -eu
out=$1
mkdir -p "$out/completions"
# Packages have the program where packages have programs.
sed 's#^ExecStart=/usr/local/bin/#ExecStart=/usr/bin/#' deploy/weir.service >"$out/weir.service"
go run ./cmd/weir man "$out/man1"
for shell in bash zsh fish powershell; do
  go run ./cmd/weir completion "$shell" >"$out/completions/weir.$shell"
done
go run ./cmd/weir config schema >"$out/weir.schema.json"
