# Two taps with several queues on a bridge, in the network namespace that this begins in; then the rest of the line.
set -e
ip link add wire type bridge
for tap in left right; do
    ip tuntap add "$tap" mode tap multi_queue
    ip link set "$tap" master wire up
done
ip link set wire up
exec "$@"
