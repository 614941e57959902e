# What a guest has by its own files and Debian's tools, and beside it what linerate tells of the same:
# tuned, then over the wire between its two cards.
setting() { cat "/proc/sys/net/ipv4/$1"; }

for file in /sys/devices/system/cpu/vulnerabilities/*; do
    tell "weakness.$(basename "$file")" "$(cat "$file")"
done
tell ulp.at_rest "$(setting tcp_available_ulp)"
tell controls.at_rest "$(setting tcp_available_congestion_control)"
linerate doctor --no-load --json > doctor.json

modprobe -a tls tcp_bbr
ethtool -G eth0 rx 512
ethtool -C eth0 rx-usecs 90
ethtool -K eth0 gro off
ip address add 10.77.0.1/24 dev eth0
ip link set eth0 up
tc qdisc replace dev eth0 root fq
tell ulp.tuned "$(setting tcp_available_ulp)"
tell controls.tuned "$(setting tcp_available_congestion_control)"
tell driver "$(ethtool -i eth0 | awk '/^driver:/ { print $2 }')"
tell rings $(ethtool -g eth0 | awk '/^[RT]X:/ { print $2 }')
tell receive_us "$(ethtool -c eth0 | awk '/^rx-usecs:/ { print $2 }')"
tell gro "$(ethtool -k eth0 | awk '/^generic-receive-offload:/ { print $2 }')"
tell qdisc.tuned "$(tc qdisc show dev eth0 root | awk '{ print $2 }')"
linerate facts --json > tuned.json

far=10.77.0.2
ip netns add far
ip link set eth1 netns far
ip -n far address add $far/24 dev eth1
ip -n far link set eth1 up
ip netns exec far linerate serve --listen $far:8080 > far &
await grep listening far
await ping -c 1 -W 1 $far
interrupts() { awk '/eth0/ { sum += $2 + $3 } END { print sum }' /proc/interrupts; }
load() { linerate load http://$far:8080/json --mine $far -c 4 --settle 100ms -d 1s --json; }
tell interrupts.before "$(interrupts)"
load > wire.json
tell interrupts.after "$(interrupts)"
tc qdisc replace dev eth0 root netem delay 30ms
load > delayed.json

# The same by a link that linerate has the kernel carry, without a delay and with one each way.
link() {
    linerate link --json --via netem "$@" --server 'linerate serve --listen 0.0.0.0:8080' -- \
        sh -c 'linerate load http://$LINERATE_SERVER:8080/json --mine $LINERATE_SERVER -c 1 \
            --settle 100ms -d 1s --json > /tmp/load.json' > link.json
}
link --rate 1Gbit/s
cp /tmp/load.json link-prompt.json
link --delay 20ms
cp /tmp/load.json link-delayed.json

# Puts a device of its own, which stays down, into every namespace that is made from now on.
modprobe ipip
linerate rig up
tell rig.devices $(linerate rig exec client -- ip -brief link | awk '{ print $1 }')
linerate rig exec server -- linerate serve --listen 198.18.0.2:8080 > inside &
await grep listening inside
linerate rig exec client -- linerate load http://198.18.0.2:8080/json -c 4 -d 1s --json > rig.json
linerate rig clean
