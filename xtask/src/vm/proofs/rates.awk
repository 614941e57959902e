# From lines of tcpdump(8) with `-tt -e -q`, for each client for which content left: the bytes of that, the
# bits in a second of all that had to wait until the last packet left, and those but for the longest gap: a
# guest that this machine lets wait sends nothing meanwhile.
$NF > 0 {
    client = $(NF - 2)
    if (!(client in first)) first[client] = last[client] = $1
    if ($1 - last[client] > longest[client]) longest[client] = $1 - last[client]
    last[client] = $1
    content[client] += $NF
    waited[client] += bytes[client]
    bytes[client] = $(NF - 5) + 0
}
END {
    for (client in first) {
        seconds = last[client] - first[client]
        if (seconds > longest[client])
            printf "%d %.0f %.0f\n", content[client], waited[client] * 8 / seconds, waited[client] * 8 / (seconds - longest[client])
    }
}
