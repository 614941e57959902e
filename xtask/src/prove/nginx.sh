# Has a command look at two nginx inside this network and mount namespace, which takes servers and rules with it when it ends. The current folder has
# that of each, named by its port. Arguments: LINERATE PORT RULED_PORT RULES, and the words of the command.
linerate=$1 port=$2 ruled=$3 rules=$4
shift 4
# Rules that never match, in the way of the one port only.
chain() {
    echo "chain $1 { type filter hook $1 priority 0; tcp $2 != $ruled accept"
    for rule in $(seq "$rules"); do echo "ip saddr 203.0.113.$((rule % 256)) drop"; done
    echo '}'
}
ip link set lo up || exit 3
# Queue disciplines are set by devices as /sys shows them. The rest of it stays, with the control groups.
mkdir sys && mount -t sysfs sysfs sys && mount --bind sys/devices/virtual/net /sys/devices/virtual/net &&
    mount --bind sys/class/net /sys/class/net && umount sys && rmdir sys || exit 3
# With a device that is named like ours and is up it is one of ours, in which each lever may be set.
ip link add lr-proof type veth peer name lr-far && ip link set lr-proof up || exit 3
if [ "$rules" != 0 ]; then
    { echo 'table inet proof {' && chain input dport && chain output sport && echo '}'; } > rules.nft
    nft -f rules.nft || exit 3
fi
nginx -p "$port" -c nginx.conf -e error.log & one=$!
nginx -p "$ruled" -c nginx.conf -e error.log & other=$!
for try in $(seq 50); do
    curl -sf "http://127.0.0.1:$port/json" "http://127.0.0.1:$ruled/json" > /dev/null && break
    sleep 0.2
done
case "$*" in
*--their-load*) "$linerate" load "http://127.0.0.1:$port/json" --duration 10m > /dev/null 2>&1 & load=$! ;;
esac
"$linerate" "$@" --yes --json --out run
code=$?
kill $one $other $load
wait
exit $code
