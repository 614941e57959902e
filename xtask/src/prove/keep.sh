# Runs proofs and keeps what they print in results/<date>-<machine>/prove[-FILTER].txt, to be committed. In a git
# checkout. Arguments: XTASK FILTER.
set -eu
xtask=$1 filter=$2
commit=$(git rev-parse HEAD)
if [ -n "$(git status --porcelain --untracked-files=no)" ]; then
    echo "a kept log names its commit: commit the changed files first" >&2
    exit 2
fi
# The processor's name, without its clock rate, and the number of CPUs, as in amd-epyc-2cpu.
model=$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1 | sed 's/@.*//; s/(R)\|(TM)\|\<CPU\>\|\<Processor\>//g')
machine=$(echo "${model:-$(uname -m)}" | tr '[:upper:]' '[:lower:]' | tr -cs '[:alnum:]' -)$(nproc)cpu
folder=results/$(date -u +%F)-$machine
mkdir -p "$folder"
log=$folder/prove${filter:+-$filter}.txt
printf '$ cargo xtask prove %s\ncommit %s\nbegun %s\n\n' "$filter" "$commit" "$(date -u +%FT%TZ)" > "$log"
"$xtask" prove $filter | tee -a "$log"
echo "kept in $log"
tail -n 1 "$log" | grep -q ' 0 failed$'
