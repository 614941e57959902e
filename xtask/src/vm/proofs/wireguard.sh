# The arm of the study `vpn` that no kernel without WireGuard has, by the study's own script.
modprobe wireguard
sed "1,/^\"vpn.sh\" = '''\$/d; /^'''\$/,\$d" vpn.toml > vpn.sh
head -c 4000000 /dev/urandom > payload
unshare -m -n -p -f /usr/sbin/dash vpn.sh within linerate wireguard free:cubic payload > carried.json 2> said || cat said >> carried.json
# A packet holds 1,368 bytes of payload and 126 of headers, of which plain TCP has 66 for 1,448: 4.4 % more, which the handshake and what is
# sent again raise.
wireguard_carries() {
    so carried '.goodput_mbit_per_s > 0 and .cpu_s_per_gb > 0' && so carried '.overhead_percent > 4 and .overhead_percent < 7' ||
        { cat carried.json && false; }
}
claim 'a stream goes through WireGuard for the study `vpn`, and what that adds to the line is told' wireguard_carries
