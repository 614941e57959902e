# Lays out the first file system of a guest in the current folder, in which `init` and `errand` are, and
# packs it into a file. Arguments: FILE BUSYBOX PROGRAM KERNEL MODULES [HERE THERE]..., where KERNEL is a
# folder with a kernel's lib/modules, and MODULES are those that the guest gets.
set -eu
umask 022
PATH=$PATH:/usr/sbin:/sbin
packed=$1 program=$3 kernel=$4 modules=$5
# Lines of ldd(1) are `NAME => PATH (ADDRESS)`, or `PATH (ADDRESS)` for the loader.
bring_libraries_of() {
    for library in $(ldd "$1" | grep -o '/[^ ]*'); do cp -L --parents "$library" .; done
}
# Empty folders are for mounts, for files, for the state that outlives a boot.
mkdir -p bin dev etc proc root run sbin state sys tmp usr/bin usr/sbin var/lib
chmod 755 init
cp "$2" bin/busybox
cp "$program" usr/bin/linerate
bring_libraries_of "$program"
shift 5
# Where the kernel looks for it when it wants a module.
ln -s /bin/busybox sbin/modprobe
# Targets never run as root.
printf 'root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/nonexistent:/bin/false\n' > etc/passwd

# Programs of this machine, with the libraries that they are linked to: what Debian has of them is not
# static. The shell of busybox would take its own `ip` and `tc` for these, whatever the path says.
for tool in dash ethtool getconf ip jq nft openssl tc tcpdump wg; do
    path=$(command -v "$tool")
    cp -L "$path" usr/sbin/
    bring_libraries_of "$path"
done
ln -s /usr/sbin/dash bin/sh

# The modules and all that they need, without what this machine says of modules. Busybox loads none that
# is packed.
release=$(ls "$kernel/lib/modules")
if [ -n "$modules" ]; then
    modprobe --config /dev/null --dirname "$kernel" --set-version "$release" --show-depends --all $modules > ../needed
    sed -n 's/^insmod \([^ ]*\).*/\1/p' ../needed | sort -u | while read -r file; do
        place=.${file#"$kernel"}
        mkdir -p "${place%/*}"
        case $file in
            *.xz) xz -dc "$file" > "${place%.xz}" ;;
            *.zst) zstd -dcq "$file" > "${place%.zst}" ;;
            *) cp "$file" "$place" ;;
        esac
    done
    cp "$kernel/lib/modules/$release/modules".builtin* "$kernel/lib/modules/$release/modules.order" "lib/modules/$release"
    depmod --basedir . "$release"
fi

while [ $# -gt 0 ]; do
    mkdir -p "./$(dirname "$2")"
    cp -L "$1" "./$2"
    shift 2
done
find . -mindepth 1 | bin/busybox cpio -o -H newc -R 0:0 > "$packed"
