"""A small server with one limiter planted in it. Arguments: PORT PLANT STRENGTH BODY_BYTES.

A thread for each connection where the plant is a lock, else one thread for all.
"""

import mmap
import os
import random
import selectors
import socket
import ssl
import sys
import threading
import time

PORT, PLANT, STRENGTH, BODY = int(sys.argv[1]), sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % BODY
ANSWER = HEAD + b"x" * BODY
LOCK = threading.Lock()
FILE = os.environ.get("FILE", "/dev/null")


def spin(us):
    end = time.perf_counter_ns() + us * 1000
    while time.perf_counter_ns() < end:
        pass


def lock(us):
    with LOCK:
        time.sleep(us / 1e6)


def calls(count):
    for _ in range(int(count)):
        os.getppid()


def pages(share):
    if random.random() < share:
        for _ in range(8):
            MAPPED[random.randrange(len(MAPPED))]


def read_file(share):
    if random.random() < share:
        file = os.open(FILE, os.O_RDONLY | os.O_DIRECT)
        os.preadv(file, [PAGE], 65536 * random.randrange(os.fstat(file).st_size // 65536))
        os.close(file)


def ask_behind(_):
    """False where the program behind cannot be asked. Its connection is closed by us, so that the port stays ours."""
    behind = socket.socket()
    try:
        behind.connect(("127.0.0.1", 18102))
        behind.sendall(b"GET /json HTTP/1.1\r\nHost: a\r\n\r\n")
        return bool(behind.recv(65536))
    except OSError:
        return False
    finally:
        behind.close()


def map_file():
    file = os.open(FILE, os.O_RDONLY)
    return mmap.mmap(file, 0, prot=mmap.PROT_READ)


WORK = {
    "hot": spin,
    "lock": lock,
    "sleep": lambda us: time.sleep(us / 1e6),
    "calls": calls,
    "behind": ask_behind,
    "disk": read_file,
    "memory": pages,
}
WORKS = WORK.get(PLANT, lambda strength: None)
MAPPED = map_file() if PLANT == "memory" else None
PAGE = mmap.mmap(-1, 65536)


def answer(client, request):
    """False once the client has gone, or has asked for the end of the connection."""
    if not request:
        return False
    if WORKS(STRENGTH) is False:
        client.sendall(b"HTTP/1.1 503 Unavailable\r\nContent-Length: 0\r\n\r\n")
    elif PLANT == "nagle":
        client.send(ANSWER[:20])
        client.send(ANSWER[20:])
    else:
        client.setblocking(True)
        client.sendall(ANSWER)
    return b"onnection: close" not in request


def close(client):
    try:
        client.close()
    except OSError:
        pass


def serve(client):
    try:
        while answer(client, client.recv(65536)):
            pass
    except OSError:
        pass
    close(client)


def prepare(client):
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, int(PLANT != "nagle"))


def accept(listener):
    try:
        client, _ = listener.accept()
    except OSError:
        # No descriptor is left: later one may be.
        time.sleep(0.001)
        return None
    prepare(client)
    return client


def by_threads(listener):
    while True:
        client = accept(listener)
        if client:
            threading.Thread(target=serve, args=(client,), daemon=True).start()


def by_events(listener):
    waiting = selectors.DefaultSelector()
    waiting.register(listener, selectors.EVENT_READ)
    while True:
        for key, _ in waiting.select():
            if key.fileobj is listener:
                client = accept(listener)
                if client:
                    waiting.register(client, selectors.EVENT_READ)
                continue
            try:
                goes_on = answer(key.fileobj, key.fileobj.recv(65536))
            except OSError:
                goes_on = False
            if not goes_on:
                waiting.unregister(key.fileobj)
                close(key.fileobj)
        if PLANT == "accept":
            time.sleep(STRENGTH / 1e6)


listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("127.0.0.1", PORT))
listener.listen(1 if PLANT == "accept" else 512)
if PLANT == "lock":
    by_threads(listener)
by_events(listener)
