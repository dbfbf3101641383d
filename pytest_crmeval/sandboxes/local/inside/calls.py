"""The numbers of the system calls that programs are refused, on the two machines that are known here."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

FIRST_UNKNOWN = 451
"""Calls from here on did not exist when these tables were made: programs don't need them, and their risk is unknown."""

_SHARED = {
    "pidfd_send_signal": 424, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427,
    "open_tree": 428, "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433,
    "pidfd_open": 434, "clone3": 435, "openat2": 437, "pidfd_getfd": 438, "process_madvise": 440,
    "mount_setattr": 442, "quotactl_fd": 443, "memfd_secret": 447, "process_mrelease": 448,
    "set_mempolicy_home_node": 450,
}  # fmt: skip
_X86_64 = {
    # other processes
    "ptrace": 101, "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312, "rt_sigqueueinfo": 129,
    "rt_tgsigqueueinfo": 297, "tkill": 200, "sched_setaffinity": 203, "sched_setscheduler": 144,
    "sched_setparam": 142, "sched_setattr": 314, "setpriority": 141, "ioprio_set": 251, "migrate_pages": 256,
    "move_pages": 279, "mbind": 237, "set_mempolicy": 238,
    # the network
    "socket": 41, "connect": 42, "bind": 49, "listen": 50, "accept": 43, "accept4": 288,
    "setsockopt": 54,
    # what outlives a process
    "keyctl": 250, "add_key": 248, "request_key": 249, "memfd_create": 319, "shmget": 29, "shmat": 30, "shmctl": 31,
    "semget": 64, "semop": 65, "semtimedop": 220, "semctl": 66, "msgget": 68, "msgsnd": 69, "msgrcv": 70,
    "msgctl": 71, "mq_open": 240, "mq_unlink": 241, "mq_timedsend": 242, "mq_timedreceive": 243, "mq_notify": 244,
    "mq_getsetattr": 245,
    # the system
    "mount": 165, "umount2": 166, "pivot_root": 155, "chroot": 161, "unshare": 272, "setns": 308, "swapon": 167,
    "swapoff": 168, "reboot": 169, "kexec_load": 246, "kexec_file_load": 320, "init_module": 175,
    "finit_module": 313, "delete_module": 176, "bpf": 321, "perf_event_open": 298, "userfaultfd": 323,
    "syslog": 103, "quotactl": 179, "acct": 163, "settimeofday": 164, "adjtimex": 159, "clock_settime": 227,
    "clock_adjtime": 305, "sethostname": 170, "setdomainname": 171, "iopl": 172, "ioperm": 173, "modify_ldt": 154,
    "lookup_dcookie": 212, "vhangup": 153, "name_to_handle_at": 303, "open_by_handle_at": 304,
    "fanotify_init": 300, "fanotify_mark": 301, "personality": 135, "nfsservctl": 180, "uselib": 134,
    "_sysctl": 156, "sysfs": 139, "ustat": 136,
    # what only a compiler needs
    "fork": 57, "vfork": 58, "execve": 59, "chmod": 90, "fchmod": 91, "fchmodat": 268, "chown": 92, "lchown": 94,
    "fchown": 93, "fchownat": 260, "setxattr": 188, "lsetxattr": 189, "fsetxattr": 190, "removexattr": 197,
    "lremovexattr": 198, "fremovexattr": 199, "utime": 132, "utimes": 235, "utimensat": 280, "futimesat": 261,
    "truncate": 76,
    # what changes a folder
    "creat": 85, "mkdir": 83, "mkdirat": 258, "mknod": 133, "mknodat": 259, "unlink": 87, "unlinkat": 263,
    "rmdir": 84, "rename": 82, "renameat": 264, "renameat2": 316, "link": 86, "linkat": 265, "symlink": 88,
    "symlinkat": 266,
    # what depends on the arguments
    "clone": 56, "execveat": 322, "kill": 62, "tgkill": 234, "socketpair": 53, "prlimit64": 302, "ioctl": 16,
    "fcntl": 72, "open": 2, "openat": 257,
}  # fmt: skip
_AARCH64 = {
    "ptrace": 117, "process_vm_readv": 270, "process_vm_writev": 271, "kcmp": 272, "rt_sigqueueinfo": 138,
    "rt_tgsigqueueinfo": 240, "tkill": 130, "sched_setaffinity": 122, "sched_setscheduler": 119,
    "sched_setparam": 118, "sched_setattr": 274, "setpriority": 140, "ioprio_set": 30, "migrate_pages": 238,
    "move_pages": 239, "mbind": 235, "set_mempolicy": 237,
    "socket": 198, "connect": 203, "bind": 200, "listen": 201, "accept": 202, "accept4": 242,
    "setsockopt": 208,
    "keyctl": 219, "add_key": 217, "request_key": 218, "memfd_create": 279, "shmget": 194, "shmat": 196,
    "shmctl": 195, "semget": 190, "semop": 193, "semtimedop": 192, "semctl": 191, "msgget": 186, "msgsnd": 189,
    "msgrcv": 188, "msgctl": 187, "mq_open": 180, "mq_unlink": 181, "mq_timedsend": 182, "mq_timedreceive": 183,
    "mq_notify": 184, "mq_getsetattr": 185,
    "mount": 40, "umount2": 39, "pivot_root": 41, "chroot": 51, "unshare": 97, "setns": 268, "swapon": 224,
    "swapoff": 225, "reboot": 142, "kexec_load": 104, "kexec_file_load": 294, "init_module": 105,
    "finit_module": 273, "delete_module": 106, "bpf": 280, "perf_event_open": 241, "userfaultfd": 282,
    "syslog": 116, "quotactl": 60, "acct": 89, "settimeofday": 170, "adjtimex": 171, "clock_settime": 112,
    "clock_adjtime": 266, "sethostname": 161, "setdomainname": 162, "lookup_dcookie": 18, "vhangup": 58,
    "name_to_handle_at": 264, "open_by_handle_at": 265, "fanotify_init": 262, "fanotify_mark": 263,
    "personality": 92, "nfsservctl": 42,
    "execve": 221, "fchmod": 52, "fchmodat": 53, "fchown": 55, "fchownat": 54, "setxattr": 5, "lsetxattr": 6,
    "fsetxattr": 7, "removexattr": 14, "lremovexattr": 15, "fremovexattr": 16, "utimensat": 88, "truncate": 45,
    "mkdirat": 34, "mknodat": 33, "unlinkat": 35, "renameat": 38, "renameat2": 276, "linkat": 37, "symlinkat": 36,
    "clone": 220, "execveat": 281, "kill": 129, "tgkill": 131, "socketpair": 199, "prlimit64": 261, "ioctl": 29,
    "fcntl": 25, "openat": 56,
}  # fmt: skip

COMPILERS_ONLY = frozenset(
    [
        "fork",
        "vfork",
        "execve",
        "chmod",
        "fchmod",
        "fchmodat",
        "chown",
        "lchown",
        "fchown",
        "fchownat",
        "setxattr",
        "lsetxattr",
        "fsetxattr",
        "removexattr",
        "lremovexattr",
        "fremovexattr",
        "utime",
        "utimes",
        "utimensat",
        "futimesat",
        "truncate",
    ]
)
"""A compiler has processes and makes a program executable; a solution does neither."""
FOLDER_CHANGES = frozenset(
    [
        "creat",
        "mkdir",
        "mkdirat",
        "mknod",
        "mknodat",
        "unlink",
        "unlinkat",
        "rmdir",
        "rename",
        "renameat",
        "renameat2",
        "link",
        "linkat",
        "symlink",
        "symlinkat",
    ]
)
BY_ARGUMENTS = frozenset(
    {"clone", "execveat", "kill", "tgkill", "socketpair", "prlimit64", "ioctl", "fcntl", "open", "openat"}
)
NOT_THERE = frozenset({"clone3", "openat2"})
"""Their arguments are in memory, where no filter can read them; all programs have another way to do the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What a filter must know of the processor."""

    audit_code: int
    numbers: Mapping[str, int]


_MACHINES = {
    "x86_64": Machine(audit_code=0xC000_003E, numbers={**_SHARED, **_X86_64}),
    "aarch64": Machine(audit_code=0xC000_00B7, numbers={**_SHARED, **_AARCH64}),
}


def this_machine() -> Machine:
    """Return the tables of this processor; OSError where there are none."""
    if (kind := os.uname().machine) not in _MACHINES:
        raise OSError(f"no table of system calls for {kind}")
    return _MACHINES[kind]
