# What a guest has by its own files and Debian's tools is what linerate tells of it: tuned, then over the wire
# between its two cards.
setting() { cat "/proc/sys/net/ipv4/$1"; }

for file in /sys/devices/system/cpu/vulnerabilities/*; do
    echo "$(basename "$file"): $(cat "$file")"
done | sort > weaknesses
ulp=$(setting tcp_available_ulp)
controls=$(setting tcp_available_congestion_control)
clock_before=$(clock)
linerate doctor --no-load --json > doctor.json
clock_after=$(clock)

# The emulated processor is one of those that began it all.
weaknesses_are_told() {
    page at-rest '.facts.mitigations | to_entries[] | "\(.key): \(.value)"' | sort | diff - weaknesses &&
        grep '^meltdown: Mitigation: PTI$' weaknesses
}
doctor_names_them() {
    finding() { page doctor ".findings[] | select(.name == \"$1\") | .$2"; }
    for name in $(sed -n 's/: Vulnerable.*//p' weaknesses); do
        finding mitigations evidence | grep -F "$name" || return 1
    done
    ! same "$(finding mitigations severity)" fine &&
        page doctor '.findings[] | select(.name == "clocksource")' | grep -e "= $clock_before," -e "= $clock_after,"
}
claim 'facts have each weakness as the kernel tells it, and some cost something' weaknesses_are_told
claim 'the doctor names what is not mitigated, and the clock' doctor_names_them

modprobe -a tls tcp_bbr
ethtool -G eth0 rx 512
ethtool -C eth0 rx-usecs 90
ethtool -K eth0 gro off
ip address add 10.77.0.1/24 dev eth0
ip link set eth0 up
tc qdisc replace dev eth0 root fq
linerate facts --json > tuned.json

card() { page tuned ".links[] | select(.name == \"eth0\") | $1"; }
# The driver rounds: it counts in units of 256 ns.
card_is_told() {
    same "$(card .driver)" e1000e && same "$(card .driver)" "$(ethtool -i eth0 | awk '/^driver:/ { print $2 }')" &&
        same "$(card '.rings | .receive_most, .transmit_most, .receive, .transmit')" \
            "$(ethtool -g eth0 | awk '/^[RT]X:/ { print $2 }')" &&
        same "$(card .rings.receive)" 512 &&
        same "$(card .coalescing.receive_us)" "$(ethtool -c eth0 | awk '/^rx-usecs:/ { print $2 }')" &&
        same "$(card '.coalescing.receive_us | . >= 80 and . <= 100')" true &&
        same "$(card '.features[] | select(.name == "rx-gro").is_on')" false &&
        same "$(ethtool -k eth0 | awk '/^generic-receive-offload:/ { print $2 }')" off
}
# A part of the kernel, at rest and tuned.
is_loaded() {
    part() { page "$1" ".kernel.parts[] | select(.name == \"$2\").state"; }
    same "$(part at-rest "$1")" loadable && same "$(part tuned "$1")" present
}
tls_is_loaded() { is_loaded kTLS && ! has_word tls "$ulp" && has_word tls "$(setting tcp_available_ulp)"; }
fq_is_loaded() {
    is_loaded fq && same "$(card .qdisc)" fq && same "$(tc qdisc show dev eth0 root | awk '{ print $2 }')" fq
}
controls_are_told() {
    told_controls() { page "$1" '.network.available_congestion_controls | join(" ")'; }
    loaded=$(setting tcp_available_congestion_control)
    same "$(told_controls at-rest)" "$controls" && same "$(told_controls tuned)" "$loaded" &&
        ! has_word bbr "$controls" && has_word bbr "$loaded"
}
claim 'facts have driver, rings, coalescing and offload of an e1000e as they were set' card_is_told
claim 'kTLS can be loaded, and is there once it is' tls_is_loaded
claim 'fq can be loaded, and is seen on a card once it is there' fq_is_loaded
claim 'a congestion control that is loaded is seen' controls_are_told

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
before=$(interrupts)
load > wire.json
# What was under way at the end is no wrong answer, nor what a busy machine let wait.
all_answer() {
    well='.answered_in_window > 0 and ([.errors | .status, .body, .malformed, .closed] | all(. == 0))'
    so loopback "$well" && so wire "$well" && [ "$(interrupts)" -gt "$before" ]
}
claim 'serve and load answer on loopback, and on a wire with interrupts' all_answer
tc qdisc replace dev eth0 root netem delay 30ms
load > delayed.json
# The delay is of one direction, and every request crosses it.
netem_delays() {
    same "$(page at-rest '.kernel.parts[] | select(.name == "netem").state')" loadable &&
        so delayed '.latency_us.service.p50 >= 30000'
}
claim 'netem can be loaded, and its delay is in the median of the answers' netem_delays

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
link_delays() {
    so link '[.up.qdisc, .down.qdisc] | all(startswith("netem limit") and contains("delay 20000us"))' &&
        so link-delayed '.latency_us.service.p50 >= 40000' &&
        jq -es '.[0].latency_us.service.p50 < .[1].latency_us.service.p50' link-prompt.json link-delayed.json
}
claim 'a link via netem is read back as it was asked for, and delays there and back' link_delays

# Puts a device of its own, which stays down, into every namespace that is made from now on.
modprobe ipip
linerate rig up
linerate rig exec client -- ip -brief link > devices
linerate rig exec server -- linerate serve --listen 198.18.0.2:8080 > inside &
await grep listening inside
linerate rig exec client -- linerate load http://198.18.0.2:8080/json -c 4 -d 1s --json > rig.json
linerate rig clean
rig_is_loaded() { grep tunl0 devices && so rig '.answered_in_window > 0'; }
claim 'a rig can be had, and loaded from within, where a tunnel'"'"'s module adds a device to it' rig_is_loaded
