"""A stock Debian server and desktop in one: which packages, and a day's doings on it.

Knows nothing of healthd: what a person and a package manager do there.
"""

from __future__ import annotations

import re
from pathlib import Path

from tests.host import debs, package
from tests.host.debs import Manner
from tests.host.machine import Host

#: Services of every kind, as Debian ships them: they run for ever, sleep behind a socket or a bus
#: name, are driven by timers, or do not fit a container and skip themselves by a condition
#: (acpid, bluetooth, chrony, haveged, irqbalance, ModemManager, qemu-guest-agent, smartmontools…).
#: Not here, because they truly fail in a container: gpm (it has no console), nfs-common
#: (rpc_pipefs needs a module), auditd (the kernel's audit), docker and libvirt (bridges).
PACKAGES = (
    *("accountsservice", "acpid", "anacron", "apt-cacher-ng", "at", "avahi-daemon", "bind9"),
    *("bluez", "chrony", "colord", "console-setup", "cron", "cups-browsed", "cups-daemon"),
    *("dovecot-core", "exim4-daemon-light", "fail2ban", "fwupd", "geoclue-2.0", "haproxy"),
    *("haveged", "irqbalance", "lldpd", "logrotate", "lvm2", "man-db", "mariadb-server"),
    *("mdadm", "memcached", "modemmanager", "mosquitto", "network-manager", "nftables"),
    *("nginx-light", "openssh-server", "packagekit", "pcscd", "php-fpm", "plocate"),
    *("postgresql", "power-profiles-daemon", "prometheus-node-exporter", "qemu-guest-agent"),
    *("redis-server", "rpcbind", "rsync", "rsyslog", "rtkit", "samba", "smartmontools", "snmpd"),
    *("spice-vdagent", "switcheroo-control", "sysstat", "tftpd-hpa", "tor", "udisks2"),
    *("unattended-upgrades", "upower", "uuid-runtime", "vsftpd", "wpasupplicant"),
)
#: Of them, those whose archives are kept, so that they can be installed anew without a network.
KEPT = (
    *("cron", "cups-daemon", "dovecot-core", "exim4-daemon-light", "mosquitto", "nginx-common"),
    *("nginx", "openssh-server", "polkitd", "redis-server", "rsyslog", "samba", "systemd"),
)

REPOSITORY = "/srv/repository"

# nmbd waits at its start for an address that is not the loopback's. A link of two ends of its own
# is a network that leads nowhere.
LAN = """\
[Unit]
Description=A network that leads nowhere
DefaultDependencies=no
Before=network-pre.target
Wants=network-pre.target
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -c "ip link add lan0 type veth peer name lan1 && ip link set lan1 up && \
ip address add 192.0.2.10/24 broadcast + dev lan0 && ip link set lan0 up"
[Install]
WantedBy=sysinit.target
"""

# Or NetworkManager waits a minute for a lease that nobody will give.
UNMANAGED = "[keyfile]\nunmanaged-devices=interface-name:lan*\n"

# As snapd: it ends by itself when nobody needs it, with a code that says so, and its socket starts
# it again.
IDLER = """\
[Unit]
Requires=idler.socket
[Service]
ExecStart=/bin/sh -c 'sleep 2; exit 42'
SuccessExitStatus=42
RestartPreventExitStatus=42
Restart=always
[Install]
WantedBy=multi-user.target
"""
IDLER_SOCKET = """\
[Socket]
ListenStream=/run/idler.socket
FlushPending=yes
[Install]
WantedBy=sockets.target
"""

PREPARE = (
    f'mkdir -p "$1{REPOSITORY}" && chroot "$1" sh -c'
    f' "cd {REPOSITORY} && apt-get --quiet=2 download {" ".join(KEPT)}"',
    f"printf '%s' '{LAN}' >\"$1/etc/systemd/system/stock-lan.service\""
    ' && chroot "$1" systemctl enable --quiet stock-lan.service',
    f"printf '%s' '{UNMANAGED}' >\"$1/etc/NetworkManager/conf.d/stock.conf\"",
    f'echo "deb [trusted=yes] file:{REPOSITORY} ./" >"$1/etc/apt/sources.list"'
    ' && rm -rf "$1"/etc/apt/sources.list.d/*',
)

# What dpkg-scanpackages would write; it belongs to a package with a compiler behind it.
INDEX = f"""
cd {REPOSITORY}
for package in *.deb; do
    dpkg-deb --field "$package"
    printf 'Filename: ./%s\\nSize: %s\\nSHA256: %s\\n\\n' "$package" \
        "$(stat -c %s "$package")" "$(sha256sum "$package" | cut -d ' ' -f 1)"
done >Packages
apt-get --quiet=2 update
"""


def tree() -> Path:
    """The Debian tree with all of these, built when it is not there."""
    return package.machine_tree("stock", *PACKAGES, prepare=PREPARE)


def failed_units(host: Host) -> str:
    """What systemd itself calls failed; empty on a healthy machine."""
    return host.run("systemctl", "list-units", "--failed", "--plain", "--no-legend").out


def install_first_versions(host: Host, folder: Path) -> None:
    """Our own packages in version 1, and the repository with their version 2."""
    first = [debs.build(manner, 1, folder) for manner in Manner]
    host.install(*first)
    for manner in Manner:
        second = debs.build(manner, 2, folder)
        host.put(second, f"{REPOSITORY}/{second.name}")
    host.run("sh", "-euc", INDEX, timeout_s=120)


def upgrade(host: Host) -> None:
    """`apt-get upgrade` brings version 2 of our own packages."""
    done = host.run("apt-get", "--yes", "upgrade", timeout_s=300).out
    assert re.search(rf"^{len(Manner)} upgraded", done, re.MULTILINE), done


def install_anew(host: Host) -> None:
    """Debian's own packages, systemd's among them, with the scripts that Debian gave them."""
    host.run("apt-get", "--yes", "--reinstall", "install", *KEPT, timeout_s=600)


def add_idler(host: Host) -> None:
    """A service that ends by itself when it is idle, and comes back when it is asked for."""
    host.unit("idler.socket", IDLER_SOCKET)
    host.unit("idler.service", IDLER)
    host.run("systemctl", "enable", "--now", "--quiet", "idler.socket", "idler.service")


#: What a person types, and programs ask for; it leaves the machine as healthy as it was.
DOINGS: tuple[tuple[str, ...], ...] = (
    ("systemctl", "reload", "nginx", "ssh", "haproxy", "php8.4-fpm", "exim4"),
    ("systemctl", "restart", "mariadb", "postgresql", "redis-server", "named", "cups"),
    ("systemctl", "stop", "dovecot", "memcached", "smbd", "nmbd", "mosquitto", "snmpd"),
    ("systemctl", "daemon-reload"),
    ("systemctl", "start", "dovecot", "memcached", "smbd", "nmbd", "mosquitto", "snmpd"),
    ("systemctl", "start", "logrotate", "man-db", "sysstat-collect", "plocate-updatedb"),
    ("systemctl", "restart", "systemd-logind", "systemd-journald", "polkit", "rsyslog"),
    ("systemctl", "restart", "avahi-daemon", "anacron", "NetworkManager"),
    ("systemctl", "kill", "--signal=HUP", "rsyslog"),
    ("hostnamectl", "status"),
    ("timedatectl", "show"),
    ("localectl", "status"),
    ("udisksctl", "status"),
    ("upower", "--dump"),
    ("socat", "-u", "OPEN:/dev/null", "UNIX-CONNECT:/run/idler.socket"),
    ("systemd-run", "--quiet", "--wait", "true"),
    ("systemd-run", "--quiet", "--on-active=1s", "true"),
    ("systemctl", "daemon-reexec"),
)
#: Names on the bus whose service starts when it is called, with an object of it. Not rtkit's: its
#: unit allows its user three processes, and the kernel counts those of all machines together.
CALLED = {
    "org.freedesktop.PackageKit": "/org/freedesktop/PackageKit",
    "org.freedesktop.ColorManager": "/org/freedesktop/ColorManager",
    "org.freedesktop.GeoClue2": "/org/freedesktop/GeoClue2/Manager",
}


def one_round(host: Host) -> None:
    """Everything of the above, once; a command that does not succeed is the test's own mistake."""
    for words in DOINGS:
        host.run(*words, timeout_s=120)
    for name, path in CALLED.items():
        interface = "org.freedesktop.DBus.Introspectable"
        host.run("busctl", "call", name, path, interface, "Introspect", timeout_s=60)
