# Has a server with one limiter planted in it or around it explained, in a network namespace of its own and in the current
# folder. From the environment: LINERATE, PLACES (the folder of the servers), SERVER, PLANT, STRENGTH, BODY (bytes), CPUS (of the
# server), SECURE (its port where it speaks TLS), and as shell code BEFORE (the server starts), WRAP (words before the server's),
# AROUND ($server is its process), EXPLAIN (words after `explain`), AFTER. Of nginx MAIN, HTTP and LOCATION are in its
# configuration.
set -eu
port=${SECURE:-18100}
ip link set lo up
network=$(readlink /proc/self/ns/net)
group() { # of the controller $1, named by us
    group=/sys/fs/cgroup/$1/linerate-proof-$$
    mkdir -p "$group"
    groups="${groups-} $group"
}
end() {
    # Whoever is in this namespace is ours, the children of those that we started too.
    for process in /proc/[0-9]*; do
        [ "$process" != /proc/$$ ] && [ "$(readlink $process/ns/net)" = "$network" ] || continue
        kill -9 ${process#/proc/} 2> /dev/null || true
    done
    wait 2> /dev/null || true
    eval "${AFTER-}" || true
    for group in ${groups-}; do rmdir "$group" || true; done
}
trap end EXIT
eval "${BEFORE-}"
words="$port ${PLANT:-none} ${STRENGTH:-0} ${BODY:-2}"
case $SERVER in
python) start="/usr/bin/python3 $PLACES/server.py $words" ;;
node) start="node --perf-basic-prof-only-functions --interpreted-frames-native-stack $PLACES/server.mjs $words" ;;
go) start="$PLACES/server $words" ;;
nginx)
    sed -e "s|{main}|${MAIN-}|; s|{http}|${HTTP-}|; s|{location}|${LOCATION:-return 200 ok;}|" "$PLACES/nginx.conf" > nginx.conf
    cp "$PLACES/cert.pem" "$PLACES/key.pem" .
    head -c "${BODY:-2}" /dev/zero > body
    start="nginx -p . -c nginx.conf -e error.log"
    ;;
linerate) start="$LINERATE serve --listen 127.0.0.1:$port ${SECURE:+--tls-self-signed --tls-resumption off} --workers 1 --sandbox off" ;;
esac
eval "taskset -c ${CPUS:-0} ${WRAP-} $start &" > server.log 2>&1
server=$!
for try in $(seq 100); do
    grep -q ":$(printf %04X $port) 00000000:0000 0A" /proc/self/net/tcp && break
    kill -0 $server
    sleep 0.05
done
eval "${AROUND-}"
case $SERVER in linerate) path=json ;; *) path= ;; esac
eval "$LINERATE explain ${EXPLAIN:-http://127.0.0.1:$port/$path} --yes --json --out run" > explained.json
