#!/bin/busybox sh
# The first process of a guest. It mounts what a system has, loads the drivers of its devices, does
# the errand, and hands output, exit code and files to the machine around it through ports:
# 1 standard output, 2 standard error, 3 what became of it, from 4 on the files that are asked for.

export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
# All but what is there already.
/bin/busybox --install -s /bin 2> /run/install

mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts pts /dev/pts
mount -t tmpfs shm /dev/shm
mount -t tmpfs run /run
mount -t cgroup2 cgroup /sys/fs/cgroup
mount -t securityfs security /sys/kernel/security
chmod 1777 /tmp /dev/shm

give_up() {
    echo "guest: $*" > /dev/console
    poweroff -f
}

for driver in $(cat /errand/drivers); do
    modprobe "$driver" || give_up "$driver could not be loaded"
done
ip link set lo up
until [ -e /dev/vport0p1 ] && [ -e /dev/vport0p2 ] && [ -e /dev/vport0p3 ]; do usleep 5000; done
until [ -e /dev/vda ]; do usleep 5000; done
mount -t ext4 /dev/vda /state || give_up "its disk could not be mounted"

echo ready > /dev/vport0p3
cd /root
/bin/sh /errand/command < /dev/null > /dev/vport0p1 2> /dev/vport0p2
code=$?

kill -9 -1
port=4
while read -r path || [ -n "$path" ]; do
    if [ -f "$path" ]; then
        cat "$path" > "/dev/vport0p$port"
    else
        echo "missing $path" > /dev/vport0p3
    fi
    port=$((port + 1))
done < /errand/files
umount /state
echo "exit $code" > /dev/vport0p3
poweroff -f
