"""Runs a command behind seccomp filters that read arguments. Arguments: INSTRUCTIONS, and the command's words."""

import ctypes
import os
import struct
import sys

LOAD, JUMP_IF_EQUAL, RETURN, ALLOW = 0x20, 0x15, 0x06, 0x7FFF0000
FIRST_ARGUMENT = 16
SET_NO_NEW_PRIVILEGES, SET_SECCOMP, MODE_FILTER = 38, 22, 2
LONGEST = 4000

libc = ctypes.CDLL(None, use_errno=True)


def install(count):
    # The same word again and again, compared with what no call has.
    pair = struct.pack("HBBI", LOAD, 0, 0, FIRST_ARGUMENT) + struct.pack("HBBI", JUMP_IF_EQUAL, 0, 0, 0xDEAD)
    code = pair * (count // 2) + struct.pack("HBBI", RETURN, 0, 0, ALLOW)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(code) // 8, ctypes.addressof(buffer)))
    if libc.prctl(SET_SECCOMP, MODE_FILTER, program, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp")


libc.prctl(SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
left = int(sys.argv[1])
while left > 0:
    install(min(left, LONGEST))
    left -= LONGEST
os.execvp(sys.argv[2], sys.argv[2:])
