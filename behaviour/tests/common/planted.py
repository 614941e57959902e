"""A server of small answers with one limiter planted in it: its name is the first argument.

It listens on a free port of loopback, which it prints, and has a thread for each connection, or one alone for those
limiters that are in a queue.
"""
import ctypes
import os
import selectors
import socket
import sys
import threading
import time
import zlib

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
LOCK = threading.Lock()


def lock():
    with LOCK:
        time.sleep(0.002)


def disk():
    # What is read is never in memory.
    file = os.open(sys.argv[2], os.O_RDONLY)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    os.pread(file, 1 << 20, 0)
    os.close(file)


def code():
    sum(number * number for number in range(3000))


def checksum():
    zlib.crc32(MUCH)


MUCH = b"x" * 400_000
OWN = threading.local()


def calls():
    # The C library itself, and a call that has something to do: of one that has nothing little is the kernel's where the
    # way in is short.
    for _ in range(300):
        LIBRARY.getrusage(0, USAGE)


LIBRARY = ctypes.PyDLL(None)
USAGE = ctypes.create_string_buffer(256)


def behind():
    """Asks the server at the port that is the second argument, over a connection of the thread's own."""
    if not hasattr(OWN, "there"):
        OWN.there = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
    OWN.there.sendall(b"?")
    OWN.there.recv(4096)


BEFORE = {
    "none": lambda: None,
    "lock": lock,
    "timer": lambda: time.sleep(0.005),
    "queue": lambda: time.sleep(0.001),
    "calls": calls,
    "disk": disk,
    "code": code,
    "checksum": checksum,
    "nagle": lambda: None,
    "behind": behind,
}


def serve(client, limiter):
    try:
        exchange(client, limiter)
    except ConnectionError:
        # The client has gone.
        pass


def serve_all(listener, limiter):
    """In one thread, each request behind the one before."""
    ready = selectors.DefaultSelector()
    ready.register(listener, selectors.EVENT_READ)
    while True:
        for key, _ in ready.select():
            if key.fileobj is listener:
                ready.register(listener.accept()[0], selectors.EVENT_READ)
            elif not is_served(key.fileobj, limiter):
                ready.unregister(key.fileobj)
                key.fileobj.close()


def is_served(client, limiter):
    try:
        if client.recv(4096):
            BEFORE[limiter]()
            client.sendall(ANSWER)
            return True
    except ConnectionError:
        pass
    return False


def exchange(client, limiter):
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, int(limiter != "nagle"))
    while client.recv(4096):
        BEFORE[limiter]()
        if limiter == "nagle":
            # Two small pieces, of which the second waits for the acknowledgement of the first.
            client.send(ANSWER[:20])
            client.send(ANSWER[20:])
        else:
            client.sendall(ANSWER)


def main():
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(512)
    print(listener.getsockname()[1], flush=True)
    if sys.argv[1] in ("queue", "calls"):
        # With another CPU to go to, its one busy thread would be as true an answer.
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        serve_all(listener, sys.argv[1])
    while True:
        client, _ = listener.accept()
        threading.Thread(target=serve, args=(client, sys.argv[1]), daemon=True).start()


main()
