#!/usr/bin/env bash
# Shows that a clean machine is enough: makes a minimal Debian in a folder, a fresh clone inside, and runs the two commands of the README.
# The first must leave a trained model and a trace. Prints its wall time and CPU time, and the time of the built program to its first step.
# Then a second clone runs only the tests: its list of tests must be the same, so that it does not depend on what ran before.
#
#   tests/product/clean_machine.sh FOLDER [--work-tree] [--only run|test] [--ccache FOLDER] [--suite jammy --mirror URL --components main,universe]
#
# Needs root and debootstrap. FOLDER is removed and created before each run. --work-tree copies the work tree instead of cloning what is
# committed. --ccache gives the clean system a compiler cache; then the times of building are meaningless. The package mirror, apt's
# settings (such as proxies) and the certificates of authorities are this machine's.
set -euo pipefail
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
die() { echo "clean_machine: $*" >&2; exit 1; }

[[ $# -ge 1 && $1 != -* ]] || die 'the folder is missing: tests/product/clean_machine.sh FOLDER'
mkdir -p "$(dirname "$1")"
target=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
shift
suite=bookworm mirror='' components=main work_tree='' only='' cache=''
while (($#)); do
  case $1 in
    --work-tree) work_tree=yes ;;
    --suite) suite=$2; shift ;;
    --mirror) mirror=$2; shift ;;
    --components) components=$2; shift ;;
    --only) only=$2; shift ;;
    --ccache) cache=$(cd "$2" && pwd); shift ;;
    *) die "unknown option $1" ;;
  esac
  shift
done
((EUID == 0)) || die 'debootstrap and chroot need root'
command -v debootstrap >/dev/null || die 'please install debootstrap'
if [[ -e $target ]]; then
  [[ -f $target/.lockstep-clean-machine ]] || die "$target is there already and was not made by this script"
  rm -rf --one-file-system "$target"
fi

# Without --mirror: that of this machine's own apt, in either format of its lists.
[[ -n $mirror ]] || mirror=$({ cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null || true; } |
  awk '$1 == "URIs:" && $2 ~ /\/debian\/?$/ { print $2; exit } $1 == "deb" { for (i = 2; i <= NF; i++) if ($i ~ /^[a-z+]+:.*\/debian\/?$/) { print $i; exit } }' || true)
started=$SECONDS
mkdir -p "$target" && touch "$target/.lockstep-clean-machine"
debootstrap --variant=minbase --components="$components" "$suite" "$target" ${mirror:+"$mirror"} >"$target.log" 2>&1 || { tail "$target.log" >&2; die 'debootstrap failed'; }
grep -lsE '^[[:space:]]*Acquire::' /etc/apt/apt.conf /etc/apt/apt.conf.d/* | xargs -r cp -t "$target/etc/apt/apt.conf.d" || true
cp -L /etc/resolv.conf "$target/etc/resolv.conf"
printf '127.0.0.1 localhost\n::1 localhost\n' >"$target/etc/hosts"  # as an installer writes it; chromedriver finds its browser by this name
if [[ -f /etc/ssl/certs/ca-certificates.crt ]]; then cp -L /etc/ssl/certs/ca-certificates.crt "$target/etc/authorities.crt"; fi  # for pip
echo "base system: $((SECONDS - started)) s, $(chroot "$target" dpkg-query -W | wc -l) packages"

home=/root
tree=$target$home/lockstep
clone() {
  if [[ -n $work_tree ]]; then
    mkdir "$tree"
    (cd "$repo" && git ls-files -coz --exclude-standard | while IFS= read -r -d '' file; do [[ -e $file ]] && printf '%s\0' "$file"; done |
      tar --null -T - -c) | tar -C "$tree" -x
  else
    git clone -q --no-hardlinks "$repo" "$tree"
  fi
}
clone

# Mounts are made in a separate namespace, so that none is left behind.
# shellcheck disable=SC2016  # expanded by the inner shell
inside() {
  unshare --mount --pid --fork -- bash -c '
    mount --make-rprivate / && mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" && mount -t tmpfs tmp "$1/tmp" &&
    if [[ -n $3 ]]; then mkdir -p "$1/root/.cache/ccache" && mount --bind "$3" "$1/root/.cache/ccache"; fi &&
    exec env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb PIP_CERT=/etc/authorities.crt \
      ${3:+CCACHE_DIR=/root/.cache/ccache CCACHE_BASEDIR=/root CCACHE_NOHASHDIR=1} \
      ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
      chroot "$1" /bin/sh -c "cd /root/lockstep && $2" </dev/null' inside "$target" "$1" "$cache"
}

# The two commands as the README has them.
readme() { sed -n "/^\.\/lockstep $1\b/s/ *#.*//p" "$repo/README.md" | head -n 1; }

status=0
for command in run test; do
  [[ -z $only || $only == "$command" ]] || continue
  words=$(readme "$command")
  [[ -n $words ]] || die "the README has no ./lockstep $command"
  echo "\$ $words"
  started=$SECONDS
  TIMEFORMAT='%U %S'
  if cpu=$({ time inside "$words" >"$target.$command.log" 2>&1; } 2>&1); then result=succeeded; else result=FAILED status=1; fi
  tail -n 40 "$target.$command.log" | sed 's/^/  | /'
  echo "$words $result after $((SECONDS - started)) s, $(awk '{ printf "%.0f", $1 + $2 }' <<<"${cpu##*$'\n'}") s of all cores (whole output: $target.$command.log)"
  grep -E '^Built ' "$target.$command.log" || true
done
if [[ $only != test && $status == 0 ]]; then
  for file in mnist.keras mnist.html; do
    [[ -s $target/root/lockstep/$file ]] || { echo "FAILED: no $file"; status=1; }
  done
  again='./lockstep run mnist --quick --json'
  inside "$again" >"$target.again.log" 2>&1 || status=1
  echo "$again, built: first step after $(sed -n 's/.*"first_step_seconds": \([0-9.]*\).*/\1/p' "$target.again.log") s"
fi
# In the same folder of the clean system, so that its compiler cache knows the sources.
if [[ -z $only ]]; then
  names() { inside './lockstep test -N' 2>/dev/null | sed -n 's/^ *Test *#[0-9]*: //p' | sed 's/ *# GetParam.*//' | sort; }
  names >"$target.both.list"
  mv "$tree" "$tree.first"
  clone
  names >"$target.alone.list"
  echo "tests listed after both commands: $(wc -l <"$target.both.list"), by ./lockstep test alone: $(wc -l <"$target.alone.list")"
  if [[ ! -s $target.both.list ]] || ! diff "$target.both.list" "$target.alone.list"; then echo 'FAILED: the lists of tests differ'; status=1; fi
fi
exit "$status"
