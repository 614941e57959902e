"""Listens in on all packets with so many sockets, and reads none of them. Argument: SOCKETS."""

import socket
import sys
import time

ALL_PROTOCOLS = 3
taps = [socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL_PROTOCOLS)) for _ in range(int(sys.argv[1]))]
for tap in taps:
    tap.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
print("ready", flush=True)
time.sleep(600)
