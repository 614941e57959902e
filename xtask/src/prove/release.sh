# Tries what a user is given: the Debian package unpacks, and the program in it works for an ordinary user in an empty
# folder, with nothing of this machine but its kernel. Arguments: RELEASE PACKAGE LAB, where LAB is a folder to work in.
set -eu
release=$1 package=$2 lab=$3
(cd "$release" && sha256sum --check --quiet SHA256SUMS)
if [ -n "$(dpkg-deb --field "$package" Depends)" ]; then
    echo "a static program needs nothing" >&2
    exit 1
fi
dpkg-deb --extract "$package" "$lab/unpacked"
mkdir "$lab/empty"
chmod 777 "$lab" "$lab/unpacked" "$lab/empty"
cd "$lab/empty"
# Debian's `nobody`.
as_stranger() {
    setpriv --reuid 65534 --regid 65534 --clear-groups --reset-env "$lab/unpacked/usr/bin/linerate" "$@"
}
as_stranger doctor > "$lab/said"
as_stranger study run http-json --smoke --yes --out run > "$lab/said"
# The report is whole.
tail -c 10 run/report.html | grep -q '</html>'
echo "$(dpkg-deb --field "$package" Package Version Architecture | tr '\n' ' '); $(as_stranger --version), doctor and http-json ran"
