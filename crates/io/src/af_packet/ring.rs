//! The system calls of a packet socket whose frames the kernel puts into memory that it shares with us: TPACKET_V3 of packet(7).
//!
//! The kernel fills blocks one after the other, each with as many frames as there is room for, and hands a block over when it is full, or some
//! time after its first frame. It writes no byte of a block that it has handed over until it gets that back.
//!
//! ```text
//!  kernel ──► block 0 │ block 1 │ …    status of each: kernel's ─► ours (`Ring::block`) ─► kernel's (`Ring::give_back`)
//! ```

use super::socket::{address, check, set};
use crate::netdev;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

/// Where the status of a block stands in it, the number of its frames, and the place of the first (`tpacket_block_desc`).
const STATUS_AT: usize = 8;
pub(crate) const FRAMES_AT: usize = 12;
pub(crate) const FIRST_AT: usize = 16;

/// A multiple of what the kernel aligns frames to; the version makes no other use of it.
const FRAME_LEN: u32 = 2048;

/// An instruction of classic BPF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Instruction {
    pub code: u16,
    pub jt: u8,
    pub jf: u8,
    pub k: u32,
}

/// A step of opening a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// To open a packet socket at all.
    Socket,
    /// To use the device.
    Device,
    /// To say what its frames begin with: the number of a type of device that has no link type here.
    Hardware(u16),
    /// To have frames for other stations.
    Promiscuous,
    /// To share memory.
    Ring,
}

/// A packet socket that receives nothing yet.
#[derive(Debug)]
pub(crate) struct Unbound {
    fd: OwnedFd,
    /// 0 for all devices.
    index: u32,
}

/// What is known of a device before it is used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceFacts {
    /// `ARPHRD_…`
    pub(crate) hardware: u16,
    pub(crate) is_point_to_point: bool,
}

impl Unbound {
    /// A socket for a device; `None`: for all, without link headers.
    pub(crate) fn open(device: Option<&str>) -> Result<Unbound, (Step, io::Error)> {
        // Asked first, since it takes no rights: who mistypes a name is not to be sent for some.
        let index = device.map_or(Ok(0), netdev::index).map_err(|error| (Step::Device, error))?;
        let kind = if device.is_some() { libc::SOCK_RAW } else { libc::SOCK_DGRAM };
        let kind = kind | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // Without a protocol it receives nothing until it is bound.
        // SAFETY: no memory is passed.
        let fd = check(unsafe { libc::socket(libc::AF_PACKET, kind, 0) })
            .map_err(|error| (Step::Socket, error))?;
        // SAFETY: the descriptor was opened above, and nobody else has it.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Unbound { fd, index })
    }

    /// What kind of device it is.
    pub(crate) fn facts(&self, device: &str) -> io::Result<DeviceFacts> {
        // SAFETY: an `ifreq` is plain numbers and a union of plain numbers and pointers, for which zeroes will do.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        let name = CString::new(device).map_err(|_| io::Error::from_raw_os_error(libc::ENODEV))?;
        let name = name.as_bytes();
        if name.len() >= request.ifr_name.len() {
            return Err(io::Error::from_raw_os_error(libc::ENODEV));
        }
        request.ifr_name.iter_mut().zip(name).for_each(|(to, &byte)| *to = byte as libc::c_char);
        let ask = |what: libc::c_ulong| {
            let mut request = request;
            // SAFETY: the request is an initialised `ifreq` that this thread owns; the kernel reads and writes no more than that.
            check(unsafe { libc::ioctl(self.fd.as_raw_fd(), what as _, &raw mut request) })?;
            Ok::<_, io::Error>(request.ifr_ifru)
        };
        // SAFETY: the call has written an address; besides, all bytes of the union were initialised.
        let hardware = unsafe { ask(libc::SIOCGIFHWADDR as _)?.ifru_hwaddr.sa_family };
        // SAFETY: the same of a number.
        let flags = unsafe { ask(libc::SIOCGIFFLAGS as _)?.ifru_flags };
        let is_point_to_point = libc::c_int::from(flags) & libc::IFF_POINTOPOINT != 0;
        Ok(DeviceFacts { hardware, is_point_to_point })
    }

    /// Has the kernel ask a program about each frame, which says how many bytes of it are kept.
    pub(crate) fn attach(&self, program: &[Instruction]) -> io::Result<()> {
        let insn = |insn: &Instruction| {
            let &Instruction { code, jt, jf, k } = insn;
            libc::sock_filter { code, jt, jf, k }
        };
        let mut program: Vec<libc::sock_filter> = program.iter().map(insn).collect();
        let len = u16::try_from(program.len()).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
        let program = libc::sock_fprog { len, filter: program.as_mut_ptr() };
        set(self.fd.as_fd(), libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
    }

    /// Frames for other stations are wanted too.
    pub(crate) fn be_promiscuous(&self) -> io::Result<()> {
        let request = libc::packet_mreq {
            mr_ifindex: self.index as libc::c_int,
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        set(self.fd.as_fd(), libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &request)
    }

    /// Frames that leave by the device are not wanted. Old kernels do not know how to leave them out.
    pub(crate) fn ignore_outgoing(&self) {
        let _ = set(self.fd.as_fd(), libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1_i32);
    }

    /// Shares memory with the kernel, and receives from now on. A block that is not full is handed over after so many milliseconds.
    pub(crate) fn start(
        self,
        (block_len, blocks): (u32, u32),
        timeout_ms: u32,
    ) -> Result<Ring, (Step, io::Error)> {
        let fd = self.fd.as_fd();
        let request = libc::tpacket_req3 {
            tp_block_size: block_len,
            tp_block_nr: blocks,
            tp_frame_size: FRAME_LEN,
            tp_frame_nr: block_len / FRAME_LEN * blocks,
            tp_retire_blk_tov: timeout_ms,
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        let version = libc::tpacket_versions::TPACKET_V3 as libc::c_int;
        set(fd, libc::SOL_PACKET, libc::PACKET_VERSION, &version)
            .and_then(|()| set(fd, libc::SOL_PACKET, libc::PACKET_RX_RING, &request))
            .map_err(|error| (Step::Ring, error))?;
        let len = block_len as usize * blocks as usize;
        let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: a new mapping, at a place that the kernel chooses, of as many bytes as the ring has that was set above.
        let map = unsafe { libc::mmap(std::ptr::null_mut(), len, access, flags, self.fd.as_raw_fd(), 0) };
        let map = NonNull::new(map.cast::<u8>()).filter(|map| map.as_ptr().cast() != libc::MAP_FAILED);
        let map = map.ok_or_else(|| (Step::Ring, io::Error::last_os_error()))?;
        let ring = Ring {
            fd: self.fd,
            index: self.index,
            map,
            block_len: block_len as usize,
            blocks: blocks as usize,
            current: 0,
        };
        let address = address(libc::ETH_P_ALL, ring.index);
        let len = size_of_val(&address) as libc::socklen_t;
        // SAFETY: the address is an initialised `sockaddr_ll` of the length given.
        check(unsafe { libc::bind(ring.fd.as_raw_fd(), (&raw const address).cast(), len) })
            .map_err(|error| (Step::Device, error))?;
        Ok(ring)
    }
}

/// A packet socket that receives into shared memory.
#[derive(Debug)]
pub(crate) struct Ring {
    fd: OwnedFd,
    index: u32,
    /// The first of the blocks, which lie one behind the other.
    map: NonNull<u8>,
    block_len: usize,
    blocks: usize,
    /// The block that is handed over next.
    current: usize,
}

// SAFETY: the mapping is the process's, not a thread's, and belongs to this value alone.
unsafe impl Send for Ring {}

impl AsFd for Ring {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Ring {
    /// The next block, if the kernel has handed it over.
    pub(crate) fn block(&self) -> Option<&[u8]> {
        let is_ours = self.status().load(Ordering::Acquire) & libc::TP_STATUS_USER != 0;
        // SAFETY: the block lies in the mapping, as `current` is below `blocks`. The kernel has written all of it, and writes to it again only
        // after `give_back`, which needs this value alone, so that nobody has the slice then.
        is_ours.then(|| unsafe { std::slice::from_raw_parts(self.begin().as_ptr(), self.block_len) })
    }

    /// Gives the block back: the kernel may write to it.
    pub(crate) fn give_back(&mut self) {
        self.status().store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.current = (self.current + 1) % self.blocks;
    }

    /// Frames that the socket has received since this was asked before, and those of them that were dropped, since there was no room.
    pub(crate) fn counts(&self) -> io::Result<(u32, u32)> {
        let mut stats = libc::tpacket_stats_v3 { tp_packets: 0, tp_drops: 0, tp_freeze_q_cnt: 0 };
        let mut len = size_of_val(&stats) as libc::socklen_t;
        let fd = self.fd.as_raw_fd();
        // SAFETY: the kernel writes at most `len` bytes, which is what `stats` has, and any bytes will do for numbers.
        check(unsafe {
            let stats = (&raw mut stats).cast();
            libc::getsockopt(fd, libc::SOL_PACKET, libc::PACKET_STATISTICS, stats, &raw mut len)
        })?;
        Ok((stats.tp_packets, stats.tp_drops))
    }

    /// Whether the device is there that the socket was bound to: the kernel takes it from the socket when it goes.
    pub(crate) fn has_device(&self) -> bool {
        let mut address = address(0, 0);
        let mut len = size_of_val(&address) as libc::socklen_t;
        // SAFETY: the kernel writes at most `len` bytes, which is what the address has, and any bytes will do for its numbers.
        let known =
            unsafe { libc::getsockname(self.fd.as_raw_fd(), (&raw mut address).cast(), &raw mut len) };
        known == 0 && u32::try_from(address.sll_ifindex) == Ok(self.index)
    }

    fn begin(&self) -> NonNull<u8> {
        // SAFETY: `current` is below `blocks`, so this is in the mapping.
        unsafe { self.map.add(self.current * self.block_len) }
    }

    fn status(&self) -> &AtomicU32 {
        // SAFETY: each block begins at a multiple of the page size, with a header in which these four bytes are at a multiple of four. Both sides
        // read and write them as a whole.
        unsafe { AtomicU32::from_ptr(self.begin().as_ptr().add(STATUS_AT).cast()) }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `start` with this length, and nobody has a block of it any more.
        unsafe { libc::munmap(self.map.as_ptr().cast(), self.block_len * self.blocks) };
    }
}
