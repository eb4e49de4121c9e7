#!/bin/bash
# Health check of a container: asks the process in it for a path of its own port, and shows what it answers when all is not well.
# It starts no program but this shell, because it runs every few seconds in every container.
# Usage: health-probe.sh PORT [PATH]
exec 3<>"/dev/tcp/127.0.0.1/$1" || exit 1
printf 'GET %s HTTP/1.0\r\n\r\n' "${2:-/healthz}" >&3
read -r -t 3 _ status _ <&3 || exit 1
[ "$status" = 200 ] && exit 0
while read -r -t 1 line <&3; do echo "$line"; done
exit 1
