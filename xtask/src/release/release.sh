# Lays out in the folder `dist` of a checkout, the current folder, what a user can be given: the program with manual
# pages, completions and documents, a Debian package of these, and checksums. Arguments: PROGRAM VERSION TRIPLE.
set -eu
umask 022
export LC_ALL=C
program=$1 version=$2 triple=$3
# It starts without a loader, which a header of that name would tell of.
headers=$(readelf --program-headers --wide "$program")
case $headers in
    *INTERP*)
        echo "$program needs a loader: it is not static" >&2
        exit 1
        ;;
esac
# One line a crate that is linked in: name, version, licence, and where its source and licence texts are. Ours stand
# with their path; a crate met before ends in a star.
crates=$(cargo tree --package linerate --edges normal --prefix none --target "$triple" --format '{p}	{l}	{r}')
rm -rf dist
mkdir -p dist/completions
cp LICENSE-APACHE LICENSE-MIT README.md CHANGELOG.md dist
cp "$program" dist/linerate
cd dist
{
    echo "The program also holds the GNU C Library (LGPL-2.1-or-later), Rust's standard library (MIT OR"
    printf 'Apache-2.0), and these crates:\n\n'
    echo "$crates" | grep -v ' (/' | sed 's/ (\*)$//' | sort -u
} > THIRD-PARTY
# The program knows these itself: they are made from the same declaration as its help.
./linerate man --out man
for shell in bash zsh fish; do ./linerate completions $shell > completions/$shell; done

# Each file where Debian's policy has it; manual pages and changelogs are packed, without a time.
share=package/usr/share
document=$share/doc/linerate
install -D -m 755 linerate package/usr/bin/linerate
install -D -m 644 -t $share/man/man1 man/*
install -D -m 644 completions/bash $share/bash-completion/completions/linerate
install -D -m 644 completions/zsh $share/zsh/vendor-completions/_linerate
install -D -m 644 completions/fish $share/fish/vendor_completions.d/linerate.fish
install -D -m 644 -t $document README.md LICENSE-MIT LICENSE-APACHE THIRD-PARTY
install -m 644 CHANGELOG.md $document/changelog
install -m 644 LICENSE-MIT $document/copyright
gzip -9 --no-name $share/man/man1/* $document/changelog
kibibytes=$(du -sk --apparent-size package | cut -f 1)
mkdir package/DEBIAN
cat > package/DEBIAN/control << END
Package: linerate
Version: $version
Architecture: amd64
Maintainer: The Linerate authors <linerate@localhost>
Installed-Size: $kibibytes
Section: net
Priority: optional
Description: how fast a Linux machine can serve, and what holds it back
 Linerate measures small HTTP servers in interleaved pairs, with an interval and
 a verdict for each step of tuning, and refuses when the machine cannot see the
 effect. It is one static program: server, load generator, studies and reports.
END
(cd package && find usr -type f | sort | xargs -d '\n' md5sum > DEBIAN/md5sums)
dpkg-deb --root-owner-group -Zxz --build package "linerate_${version}_amd64.deb"
rm -r package
find . -type f ! -name SHA256SUMS -printf '%P\n' | sort | xargs -d '\n' sha256sum > SHA256SUMS
