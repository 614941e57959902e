# A file over TLS by a server whose records the kernel makes, and by one that makes them itself; every byte of two of
# its connections, as a packet socket saw it, is left in `wire.…`, to be taken apart outside.
file_bytes=300000
mkdir www
yes 0123456789 | head -c $file_bytes > www/file
yes 0123456789 | head -c 3000000 > www/large
of_server="kernel-tls=auto kernel-tls=off kernel-tls=on"
counted() { awk -v name="$1" '$1 == name { print $2 }' /proc/net/tls_stat; }
request() { printf 'GET /%s HTTP/1.1\r\nHost: a\r\nConnection: %s\r\n\r\n' "$@"; }
client() { timeout 60 openssl s_client -connect 127.0.0.1:8443 "$@" > answer 2> said; }
first_is_answered() { grep -q '{"message":"Hello, World!"}' answer; }
# What came of two requests one after the other, so that the second is received by whoever has the
# session then. A connection that ends without a word is an error to openssl.
ask() {
    rm -f answer
    { request json keep-alive && await first_is_answered && request file close; } | client -quiet "$@" || true
    if ! first_is_answered || ! tail -c $file_bytes answer | cmp -s - www/file; then
        echo different
    elif grep -q "unexpected eof" said; then
        echo not ended
    else
        echo same
    fi
}
# The same of a client that changes its keys in between, and asks the server for new ones too.
ask_with_new_keys() {
    rm -f answer
    {
        request json keep-alive && await first_is_answered && echo K && await grep -q KEYUPDATE said
        request json close && await grep -q -e '^closed' -e alert answer said
    } | client -tls1_3 || true
    echo "$(grep -c '{"message":"Hello, World!"}' answer) answered, $(grep -o 'alert internal error' said | head -n 1)"
}
# The rest of the words, while all that a port sends by a device is kept in `packets`: until so many of its
# connections have ended, each with a FIN, which may be sent again.
ended() { tcpdump -Z root -r packets -nn -q 'tcp[tcpflags] & tcp-fin != 0' 2> /dev/null | awk '{ print $5 }' | sort -u; }
have_ended() { [ "$(ended | wc -l)" = "$1" ]; }
# The buffer (-B, KiB) holds all that a busy machine lets wait.
tapped() {
    ends=$3
    tcpdump -Z root -i "$1" -s 0 -B 16384 -U -w packets "tcp src port $2" > /dev/null 2> tap &
    tap=$!
    shift 3
    await grep listening tap
    "$@"
    await have_ended "$ends"
    kill $tap
    wait $tap || true
}
# Two requests as above, and every byte of the answers as it left in `wire.NAME`.
ask_tapped() {
    wire=wire.$1
    shift
    tapped lo 8443 1 ask "$@"
    cp packets "$wire"
}
for lever in $of_server; do
    kind=${lever#*=}
    linerate serve --listen 8443 --workers 1 --root www --tls-self-signed --kernel-tls "$kind" --json > secure &
    server=$!
    await grep listening secure
    tell "ktls.$kind.ready" "$(cat secure)"
    sessions=$(counted TlsTxSw)
    tell "ktls.$kind.answers" "$(ask_tapped "$kind" -tls1_3)"
    tell "ktls.$kind.sessions" $(($(counted TlsTxSw) - sessions))
    # Of what a socket is sent only what sendfile(2) sends counts as written by the process.
    tell "ktls.$kind.written" "$(awk '/^wchar:/ { print $2 }' /proc/$server/io)"
    tell "ktls.$kind.new_keys" "$(ask_with_new_keys)"
    if [ "$kind" = on ]; then break; fi
    kill $server
    wait $server
done
# The other pairs of version and cipher.
sessions=$(counted TlsTxSw)
tell ktls.ciphers "$(ask_tapped tls1.2 -tls1_2 -cipher ECDHE-ECDSA-AES128-GCM-SHA256)"
for cipher in "-tls1_2 -cipher ECDHE-ECDSA-AES256-GCM-SHA384" "-tls1_2 -cipher ECDHE-ECDSA-CHACHA20-POLY1305" \
    "-tls1_3 -ciphersuites TLS_AES_128_GCM_SHA256" "-tls1_3 -ciphersuites TLS_CHACHA20_POLY1305_SHA256"; do
    tell ktls.ciphers "$(ask $cipher)"
done
tell ktls.others $(($(counted TlsTxSw) - sessions))
# A client that does not read for a while: what is left when the server closes must still arrive.
request large close | timeout 60 openssl s_client -connect 127.0.0.1:8443 -quiet 2> said | { usleep 500000 && cat; } > answer
tell ktls.late "$(tail -c 3000000 answer | cmp - www/large 2>&1 && echo whole)"
have_none_left() { [ "$(counted TlsCurrTxSw) $(counted TlsCurrRxSw)" = "0 0" ]; }
await have_none_left
tell ktls.wrong "$(counted TlsDecryptError)"
kill $server
wait $server
# By the kernel: so many suites and sessions of its own, and the file by sendfile.
records_are_of() {
    same "$(seen "ktls.$1.answers")" same &&
        same "$(seen "ktls.$1.ready" | jq '.tls.by_kernel | length')" "$2" &&
        same "$(seen "ktls.$1.sessions")" "$3" &&
        same "$(($(seen "ktls.$1.written") >= file_bytes))" "$3"
}
kernel_encrypts() { records_are_of auto 9 1 && records_are_of on 9 1 && records_are_of off 0 0; }
other_pairs_are_of_kernel() { same "$(grep -c '^ktls.ciphers same$' seen)" 5 && same "$(seen ktls.others)" 5; }
all_arrives() { same "$(seen ktls.late)" whole && same "$(seen ktls.wrong)" 0; }
# Kernels before Linux 6.14 cannot follow; who asks is told so, and not left with a connection that broke.
new_keys_are_told() {
    same "$(seen ktls.off.new_keys)" '2 answered, ' && same "$(seen ktls.auto.new_keys)" '2 answered, ' &&
        same "$(seen ktls.on.new_keys)" '1 answered, alert internal error'
}
claim 'serve has the kernel encrypt a file that it sends by sendfile, unless it is told not to' kernel_encrypts
claim 'the kernel does so with each other pair of version and cipher' other_pairs_are_of_kernel
claim 'what a slow client of its sessions has not read yet arrives after the close' all_arrives
claim 'a client that asks for new keys gets them, or is told by an alert that the kernel has none' new_keys_are_told
