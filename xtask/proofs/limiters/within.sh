#!/bin/sh
# Runs a command in a control group. Arguments: GROUP, and the command's words.
echo $$ > "$1/cgroup.procs"
shift
exec "$@"
