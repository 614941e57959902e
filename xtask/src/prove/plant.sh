# What a request costs a server that goes round a loop for each, while a client loads it as a study would: the last line
# is the server's own, `planted: N ns of M ns of CPU time a request`. Arguments: LINERATE ROUNDS SERVER_CPU CLIENT_CPU.
set -eu
folder=$(mktemp --directory)
trap 'rm -r "$folder"' EXIT
# Without a sandbox, as the targets of studies are.
"$1" serve --listen 127.0.0.1:0 --workers 1 --sandbox off --cpus "$3" --busy-work-rounds "$2" \
    > "$folder/ready" 2> "$folder/said" &
server=$!
until grep -q '^listening on ' "$folder/ready"; do kill -0 $server; sleep 0.05; done
# As long as a block of the study, and longer.
"$1" load "http://$(sed 's/^listening on //' "$folder/ready")/json" --threads 1 --connections 64 --cpus "$4" \
    --settle 100ms --duration 500ms > "$folder/load" 2>&1 || failed=$?
kill $server
wait $server || true
if [ "${failed:-0}" != 0 ]; then
    echo "the load failed:" >&2
    cat "$folder/load" >&2
    exit 1
fi
cat "$folder/said"
