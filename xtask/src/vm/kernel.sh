# Makes a kernel's package, which is unpacked in the current folder, ready to boot: with the kernel itself as
# an ELF program, and with a list of what its modules need, which an installation would make. Unpacking
# itself is most of what a kernel does before its first line, and an emulated processor takes seconds for it.
set -eu
PATH=$PATH:/usr/sbin:/sbin
release=$(ls lib/modules)
image=boot/vmlinuz-$release
# By the first bytes of one form, with what unpacks it; that may complain of the code that stands behind.
unpacked() {
    places=$(LC_ALL=C grep -abo -P "$1" "$image" | cut -d : -f 1)
    shift
    for at in $places; do
        tail -c "+$((at + 1))" "$image" | "$@" --decompress --stdout > vmlinux 2> /dev/null || true
        if [ "$(head -c 4 vmlinux | tail -c 3)" = ELF ]; then return; fi
    done
    return 1
}
unpacked '\xfd7zXZ\x00' xz --single-stream || unpacked '\x28\xb5\x2f\xfd' zstd || {
    echo "$image is packed in no form that is known here" >&2
    exit 1
}
depmod --basedir . "$release"
