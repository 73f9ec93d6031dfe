//! Detection of file systems shared with other machines.

/// Magic numbers of shared file systems, from statfs(2) and the file systems' sources.
const KINDS: [u32; 11] = [
    0x6969,      // NFS
    0xff53_4d42, // CIFS
    0xfe53_4d42, // SMB2
    0x0bd0_0bd0, // Lustre
    0x4750_4653, // GPFS
    0x00c3_6400, // Ceph
    0x1983_0326, // BeeGFS
    0xaad7_aaea, // Panasas
    0x5346_414f, // AFS
    0x0102_1997, // 9P
    0x6573_5546, // FUSE
];

/// True if other machines can access file systems of type `kind` (`f_type` of statfs(2)). There a mapped file is slow and may fail in ways
/// that a program cannot survive, and this machine cannot know if the process that created the file still runs.
#[must_use]
pub fn is_seen_elsewhere(kind: u32) -> bool {
    KINDS.contains(&kind)
}
