# Builds the kernel of irq-time.config from the package of Debian's source in the current folder, and leaves
# nothing else of the package.
set -eu
mkdir tree
tar --extract --file usr/src/linux-source-*.tar.xz --strip-components=1 --directory tree
# Nothing that this program was given is meant for it.
unset MAKEFLAGS MFLAGS ARCH CROSS_COMPILE KCONFIG_CONFIG
export KCONFIG_ALLCONFIG="$PWD/irq-time.config"
make --silent --directory tree allnoconfig
make --silent --directory tree "-j$(nproc)" vmlinux
mkdir -p "lib/modules/$(make --silent --directory tree kernelrelease)"
mv tree/vmlinux .
rm -r tree usr
