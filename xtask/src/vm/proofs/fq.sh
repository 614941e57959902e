# Two files at once from a server behind eth0, before the lever has fq there, with fq told a rate for each
# connection, and after the undo: in `rates.TIME` what rates.awk makes of the packets as they left the queue.
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
    tcpdump -Z root -r packets -tt -nn -q -e 2> /dev/null | awk -f rates.awk > "rates.$1"
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
# What is so of both connections, each of which had the whole file: no more than the rate with fq, where a packet may
# leave up to half its time early to make up for one that was late, and more without.
are() {
    awk "\$1 > 30000 && $2 { n++ } END { exit NR != 2 || n != 2 }" "rates.$1" || said "$1: $(cat "rates.$1")"
}
fq_holds_back() {
    same "$(seen fq.paced.qdisc)" fq && same "$(seen fq.after.qdisc)" "$(seen fq.before.qdisc)" &&
        ! same "$(seen fq.before.qdisc)" fq &&
        are before '$3 > 275000' && are paced '$2 <= 275000' && are after '$3 > 275000'
}
claim 'fq by its lever holds each connection to its rate, by the time of each packet, and the undo ends it' fq_holds_back
