"""A toy name server and its client: queries over a pair of sockets, one after the other."""

import json
import socket
import struct
import sys
import time

NAMES = 4000
CLASS_AND_TYPE = struct.pack(">HH", 1, 1)


def labels(name):
    parts = name.encode().split(b".")
    return b"".join(bytes([len(part)]) + part for part in parts) + b"\0"


ZONE = [(labels(f"host{at}.example"), struct.pack(">I", 0x0A000000 + at)) for at in range(NAMES)]
LOOK_UPS = {
    "scanned": lambda name: next(address for known, address in ZONE if known == name),
    "hashed": dict(ZONE).__getitem__,
}


def answer(query, look_up):
    name = query[12 : query.index(b"\0", 12) + 1]
    head = query[:2] + struct.pack(">HHHHH", 0x8400, 1, 1, 0, 0)
    record = struct.pack(">HHHIH", 0xC00C, 1, 1, 60, 4) + look_up(name)
    return head + query[12:] + record


def main(way, queries):
    client, server = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    began, cpu_began = time.perf_counter(), time.process_time()
    for number in range(queries):
        name, address = ZONE[number * 97 % NAMES]
        head = struct.pack(">HHHHHH", number % 65536, 0x0100, 1, 0, 0, 0)
        client.send(head + name + CLASS_AND_TYPE)
        server.send(answer(server.recv(512), LOOK_UPS[way]))
        found = client.recv(512)
        assert found[:2] == head[:2] and found.endswith(address), found
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu_began
    figures = {"query_us": seconds / queries * 1e6, "cpu_us": cpu_seconds / queries * 1e6}
    print(json.dumps({**figures, "answered": queries}))


main(sys.argv[1], int(sys.argv[2]))
