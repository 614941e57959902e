# Brings the newest version of a Debian package into the current folder, unpacked and made ready in a folder named
# by its version and checksum, and notes in NAME.in-use which that is. Arguments: NAME, what it is kept as; PACKAGE;
# MIRROR; SUITES, lines of a folder of the mirror and a suite; FINISH, lines for a shell in the unpacked package;
# FILE and TEXT, one file for that, or nothing.
#
# It is apt's work, in a world of its own: sources, lists and cache are ours, nothing is ever installed, and the
# machine's own apt is neither asked nor changed. How the network is reached, a proxy for one, is as the machine
# has it, whose settings are read first, so that these win.
set -eu
export LC_ALL=C
name=$1 package=$2 mirror=$3 suites=$4 finish=$5 file=$6 text=$7
store=$PWD
world=$store/apt/$name
rm -rf "$world/new"
mkdir -p "$world/lists/partial" "$world/cache/archives/partial" "$world/none" "$world/new"
: > "$world/status"
echo "$suites" | while read -r folder suite; do
    signed=/usr/share/keyrings/debian-archive-keyring.gpg
    echo "deb [arch=amd64 signed-by=$signed] $mirror/$folder $suite main"
done > "$world/sources.list"
# The lists belong to whoever runs this, and apt's own user may not see the folder. Without the error mode an
# unreachable mirror is a warning.
cat > "$world/apt.conf" << END
#clear APT::Update;
#clear DPkg;
Dir::State::lists "$world/lists";
Dir::State::status "$world/status";
Dir::Cache "$world/cache";
Dir::Etc::sourcelist "$world/sources.list";
Dir::Etc::sourceparts "$world/none";
Dir::Etc::preferences "$world/none/preferences";
Dir::Etc::preferencesparts "$world/none";
APT::Sandbox::User "";
APT::Architecture "amd64";
Acquire::Languages "none";
APT::Update::Error-Mode "any";
Acquire::http::Timeout "30";
END
show() { apt-cache -c "$world/apt.conf" show --no-all-versions "$1" > "$world/shown"; }
field() { sed -n "s/^$1: //p" "$world/shown" | head -n 1; }

apt-get -c "$world/apt.conf" update -qq
show "$package"
# A package that has no files always stands for the newest kernel.
kernel=$(field Depends | grep -o 'linux-image-[^ ,]*' | head -n 1)
if [ -n "$kernel" ]; then show "$kernel"; fi
wanted=$(field Package)=$(field Version)
folder=$(field Package)_$(field Version)_$(field SHA256 | cut -c -16)
is_as_now() { [ -d "$folder" ] && { [ -z "$file" ] || printf '%s' "$text" | cmp -s - "$folder/$file"; }; }
if ! is_as_now; then
    echo "making $wanted ready" >&2
    # What apt downloads it holds against the signed lists.
    (cd "$world/new" && apt-get -c "$world/apt.conf" download -qq "$wanted")
    rm -rf unfinished
    dpkg-deb --extract "$world/new"/*.deb unfinished
    rm -r "$world/new"
    if [ -n "$file" ]; then printf '%s' "$text" > "unfinished/$file"; fi
    (cd unfinished && sh -c "$finish")
    rm -rf "$folder"
    mv unfinished "$folder"
fi
printf '%s' "$folder" > "$name.in-use"
