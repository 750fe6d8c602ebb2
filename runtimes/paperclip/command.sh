#!/bin/sh
# A command-line agent (claude, codex or pi) as Paperclip starts it, with this agent's model and key.
# boot.py laid both on the tmpfs; so neither the server's environment nor the workspace holds a key.
name=${0##*/}
given=/run/agent/paperclip/$name.sh
[ -r "$given" ] && . "$given"
exec "/opt/paperclip/commands/$name" "$@"
