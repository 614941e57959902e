# Installs Debian packages, and starts none of the servers among them. Arguments: the packages.
set -eu
export DEBIAN_FRONTEND=noninteractive
# Asked by packages before they start a daemon, by invoke-rc.d(8) and deb-systemd-invoke(1p); 101 means that they may
# not. An administrator who has a policy of his own keeps it.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
    trap 'rm -f $policy' EXIT
    printf '#!/bin/sh\nexit 101\n' > $policy
    chmod 755 $policy
fi
# A machine that was just started may be looking for updates by itself.
apt() { apt-get -o DPkg::Lock::Timeout=600 -o Acquire::Retries=5 -qq "$@" > /dev/null; }
apt update
apt install -y --no-install-recommends "$@"
