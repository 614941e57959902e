"""What no tool of the machine tells of a network device, asked of the kernel over netlink:
suspensions INDEX | ipv4-sizes INDEX | all INDEX | first-napi INDEX ATTRIBUTE [NUMBER]"""
import socket, struct, sys

GENERIC, ROUTE = 16, 0


def ask(protocol, kind, flags, payload):
    netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol)
    netlink.send(struct.pack("IHHII", 16 + len(payload), kind, flags | 4, 1, 0) + payload)
    told = []
    while True:
        datagram = netlink.recv(65536)
        while datagram:
            length, kind = struct.unpack_from("IH", datagram)
            if kind == 2 and (error := struct.unpack_from("i", datagram, 16)[0]):
                sys.exit(f"errno {-error}")
            if kind in (2, 3):
                return told
            told.append(datagram[16:length])
            datagram = datagram[length + -length % 4 :]


def attribute(kind, value):
    return struct.pack("HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)


def attributes(payload):
    found = {}
    while payload:
        length, kind = struct.unpack_from("HH", payload)
        found[kind] = int.from_bytes(payload[4:length], sys.byteorder)
        payload = payload[length + -length % 4 :]
    return found


def number(number):
    return struct.pack("I", number)


def netdev(command, flags, payload):
    family = ask(GENERIC, 16, 1, struct.pack("BBxx", 3, 1) + attribute(2, b"netdev\0"))
    family = attributes(family[0][4:])[1]
    told = ask(GENERIC, family, flags, struct.pack("BBxx", command, 1) + payload)
    return [attributes(napi[4:]) for napi in told]


def show_ipv4_sizes():
    link = ask(ROUTE, 18, 1, struct.pack("BxHiII", 0, 0, index, 0, 0))[0]
    sizes = attributes(link[16:])
    print("gso_ipv4_max_size", sizes[63])
    print("gro_ipv4_max_size", sizes[64])


def napis():
    told = netdev(11, 0x301, attribute(1, number(index)))
    return sorted(told, key=lambda napi: napi[2])


what, index, *words = sys.argv[1:]
index = int(index)
if what in ("ipv4-sizes", "all"):
    show_ipv4_sizes()
if what in ("suspensions", "all"):
    for napi in napis():
        print(napi.get(7))
if what == "first-napi":
    first, (kind, *numbers) = napis()[0], map(int, words)
    for wanted in numbers:
        netdev(14, 1, attribute(2, number(first[2])) + attribute(kind, number(wanted)))
    print(napis()[0].get(kind))
