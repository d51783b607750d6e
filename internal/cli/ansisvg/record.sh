#!/bin/sh
# Records a real run in a terminal of tmux and writes docs/panel.svg.
# Run it from the root of the repository: sh internal/cli/ansisvg/record.sh
set -eu
work=$(mktemp -d)
name=weir-record-$$
trap 'tmux kill-session -t "$name" 2>/dev/null || true; rm -rf "$work"' EXIT
go build -o "$work/weir" ./cmd/weir
cp examples/rewards/users.csv "$work/"
tmux new-session -d -s "$name" -x 120 -y 24 "cd '$work'; PATH='$work':\$PATH PS1='\$ ' TERM=screen-256color sh"
command='weir run users.csv --action demo.award --action demo.message --rate 1500/s --report out/'
tmux send-keys -t "$name" clear Enter
sleep 0.3
tmux send-keys -t "$name" "$command" Enter
for frame in 1 2 3 4 5; do
  sleep 1.2
  tmux capture-pane -t "$name" -p -e
  printf '\f'
done > "$work/screens"
sleep 4
tmux capture-pane -t "$name" -p -e >> "$work/screens"
mkdir -p docs
go run ./internal/cli/ansisvg < "$work/screens" > docs/panel.svg
