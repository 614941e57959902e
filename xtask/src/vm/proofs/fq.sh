# Two files at once from a server behind eth0, before the lever has fq there, with fq told a rate for each
# connection, and after the undo: as lines `fq.TIME.rates` in `truth` what rates.awk makes of the packets as they left the queue.
head -c 30000 www/large > www/shaped
tc qdisc del dev eth0 root 2> /dev/null || true
# Each packet waits for itself, and not as one of many that the kernel cuts up behind the queue.
ip link set dev eth0 gso_max_segs 1
linerate serve --listen 10.77.0.1:8081 --workers 1 --root www > shaped &
server=$!
await grep listening shaped
receive() { ip netns exec far timeout 30 wget -q -O "$1" http://10.77.0.1:8081/shaped; }
receive_both() {
    receive one &
    first=$!
    receive other
    wait $first
    cmp one www/shaped
    cmp other www/shaped
}
sent() {
    tapped eth0 8081 2 receive_both
    tell "fq.$1.rates" "$(tcpdump -Z root -r packets -tt -nn -q -e 2> /dev/null | awk -f rates.awk | tr '\n' ' ')"
    tell "fq.$1.qdisc" "$(tc qdisc show dev eth0 root | awk '{ print $2 }')"
}
sent before
linerate levers apply qdisc=fq --device eth0 > said
tc qdisc change dev eth0 root fq maxrate 250kbit
sent paced
linerate levers undo qdisc > said
sent after
ip link set dev eth0 gso_max_segs 65535
kill $server
wait $server
