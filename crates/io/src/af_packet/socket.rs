//! The system calls of a packet socket (packet(7)): frames of one device, in bursts.
//!
//! The unsafe code here passes pointers to values that live on the stack, or to packets that the caller lends, for the
//! time of one call. The kernel keeps none of them.

use super::AfPacket;
use super::control::{CONTROL_LEN, Told};
use super::framing::{Framing, Hardware, Peers};
use super::offload::{self, Cut, HEADER_LEN, Header};
use crate::device::REST_MAX;
use crate::netdev;
use engine::Packet;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// The most frames that one call moves.
pub(super) const BURST_MAX: usize = 64;

/// Says that a header comes and goes with each frame (linux/if_packet.h).
const PACKET_VNET_HDR: libc::c_int = 15;
/// Keeps frames that leave by the device from a group (linux/if_packet.h): for its sockets, `PACKET_IGNORE_OUTGOING` means nothing.
const PACKET_FANOUT_FLAG_IGNORE_OUTGOING: libc::c_uint = 0x4000;

/// The sockets of a group share its frames by a program of classic BPF, and which program (linux/if_packet.h).
const PACKET_FANOUT_CBPF: libc::c_uint = 6;
const PACKET_FANOUT_DATA: libc::c_int = 22;

/// A packet socket, bound to a device.
#[derive(Debug)]
pub(super) struct Socket {
    fd: OwnedFd,
    index: u32,
    /// Whether a header comes and goes with each frame.
    has_header: bool,
    /// What its frames begin with.
    framing: Framing,
    /// Whether frames that leave by the device come in again.
    is_loopback: bool,
    /// The longest packet that the device takes, without its Ethernet header.
    mtu: usize,
}

/// Facts about a frame that was received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Received {
    /// Bytes it has in its packet, and behind.
    pub(super) len: usize,
    /// Whether it was longer.
    pub(super) is_cut: bool,
    /// What its control messages say.
    pub(super) told: Told,
    /// Where the bytes begin whose checksum was left to the device, and where it belongs among them.
    pub(super) checksum: Option<(usize, usize)>,
    /// Bytes of each UDP datagram, where it consists of several.
    pub(super) datagram_len: Option<usize>,
    /// Whom the kernel took it to be for (`sll_pkttype`), if that was asked for, else 0.
    pub(super) packet_type: u8,
}

/// Which step of opening a socket failed, and why.
#[derive(Debug)]
pub(super) struct OpenError {
    pub(super) step: Step,
    pub(super) error: io::Error,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Socket,
    Device,
    /// Its frames are of a type for which there is no link type.
    Hardware(Hardware),
    Promiscuous,
    Fanout {
        /// Whether the group was to be one that the kernel keeps outgoing frames from, though it need not.
        could_see_outgoing: bool,
    },
}

/// Room for the control messages that come with a frame.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Control([u8; CONTROL_LEN]);

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Socket {
    /// The number that the kernel has for the device.
    pub(super) fn index(&self) -> u32 {
        self.index
    }

    /// A socket on a device, which receives from now on.
    pub(super) fn open(options: &AfPacket) -> Result<Self, OpenError> {
        let step = |step| move |error| OpenError { step, error };
        // Asked first, since it takes no rights: who mistypes a name is not to be sent for some.
        let index = netdev::index(&options.device).map_err(step(Step::Device))?;
        // Without a protocol it receives nothing until it is bound, and so no frames of other devices.
        let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: no memory is passed.
        let fd = check(unsafe { libc::socket(libc::AF_PACKET, kind, 0) }).map_err(step(Step::Socket))?;
        // SAFETY: the descriptor was opened above, and nobody else has it.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let framing = Framing::Ethernet;
        let mut socket =
            Socket { fd, index, has_header: false, framing, is_loopback: false, mtu: usize::MAX };
        socket.prepare().map_err(step(Step::Socket))?;
        socket.set_queue_len(options.queue_len().unwrap_or(super::QUEUE_LEN));
        // Without it, frames come and go as they are.
        socket.has_header = socket.set(libc::SOL_PACKET, PACKET_VNET_HDR, &1_i32).is_ok();
        socket.ask_mtu();
        socket.bind().map_err(step(Step::Device))?;
        socket.ask_framing()?;
        socket.set_outgoing(options.outgoing)?;
        if options.promiscuous {
            socket.set_promiscuous(true)?;
        }
        socket.join(options)?;
        Ok(socket)
    }

    /// What the frames of the device begin with.
    pub(super) fn framing(&self) -> Framing {
        self.framing
    }

    /// Asks for the longest packet that the device takes, whatever it is called by now.
    pub(super) fn ask_mtu(&mut self) {
        let answer = self.name().and_then(|name| self.ask(libc::SIOCGIFMTU as _, name));
        let Ok(answer) = answer else { return };
        // SAFETY: the call has written the number; besides, all bytes of the union were initialised.
        if let Ok(mtu) = usize::try_from(unsafe { answer.ifr_ifru.ifru_mtu }) {
            self.mtu = mtu;
        }
    }

    /// Asks what the frames of the device begin with.
    fn ask_framing(&mut self) -> Result<(), OpenError> {
        let known = self.address().and_then(|address| {
            let answer = self.ask(libc::SIOCGIFFLAGS as _, self.name()?)?;
            // SAFETY: as for the number in `ask_mtu`.
            let flags = unsafe { answer.ifr_ifru.ifru_flags };
            let has_one = libc::c_int::from(flags) & libc::IFF_POINTOPOINT != 0;
            Ok((address.sll_hatype, if has_one { Peers::One } else { Peers::Several }))
        });
        let (hardware, peers) = known.map_err(|error| OpenError { step: Step::Device, error })?;
        self.framing = Framing::of(hardware, peers).ok_or_else(|| OpenError {
            step: Step::Hardware(hardware),
            error: io::ErrorKind::Unsupported.into(),
        })?;
        self.is_loopback = hardware == libc::ARPHRD_LOOPBACK;
        Ok(())
    }

    /// What the device is called now.
    fn name(&self) -> io::Result<DeviceName> {
        let mut request = EMPTY_REQUEST;
        request.ifr_ifru.ifru_ifindex = self.index as libc::c_int;
        Ok(self.request(libc::SIOCGIFNAME as _, request)?.ifr_name)
    }

    /// Asks something about the device of a name.
    fn ask(&self, what: libc::c_ulong, name: DeviceName) -> io::Result<libc::ifreq> {
        self.request(what, libc::ifreq { ifr_name: name, ..EMPTY_REQUEST })
    }

    fn request(&self, what: libc::c_ulong, mut request: libc::ifreq) -> io::Result<libc::ifreq> {
        // SAFETY: the request is an initialised `ifreq` that this thread owns; the kernel reads and writes no more than that.
        check(unsafe { libc::ioctl(self.fd.as_raw_fd(), what as _, &raw mut request) })?;
        Ok(request)
    }

    /// Whether a frame may be longer than the device takes.
    pub(super) fn is_long(&self, frame: &[u8]) -> bool {
        frame.len() > self.mtu.saturating_add(self.framing.header_len())
    }

    /// How a frame is to be cut, if it is too long for the device.
    #[inline]
    fn cut(&self, frame: &[u8]) -> Option<Cut> {
        if self.has_header && self.is_long(frame) {
            offload::cut(frame, self.framing, self.mtu)
        } else {
            None
        }
    }

    fn prepare(&self) -> io::Result<()> {
        let on: libc::c_int = 1;
        self.set(libc::SOL_PACKET, libc::PACKET_AUXDATA, &on)?;
        // Not even between two steps.
        self.set(libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &on)?;
        Ok(())
    }

    /// Says how many bytes the queues in the kernel are to hold.
    pub(super) fn set_queue_len(&self, len: usize) {
        let len = libc::c_int::try_from(len).unwrap_or(libc::c_int::MAX);
        for (forced, asked) in
            [(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF), (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF)]
        {
            // As much as we are allowed; short queues work too.
            let _ =
                self.set(libc::SOL_SOCKET, forced, &len).or_else(|_| self.set(libc::SOL_SOCKET, asked, &len));
        }
    }

    fn bind(&self) -> io::Result<()> {
        let address = address(libc::ETH_P_ALL, self.index);
        let len = size_of_val(&address) as libc::socklen_t;
        // SAFETY: the address is an initialised `sockaddr_ll` of the length given.
        check(unsafe { libc::bind(self.fd.as_raw_fd(), (&raw const address).cast(), len) })?;
        Ok(())
    }

    /// Whether the device is there to which the socket was bound: the kernel takes it from the socket when it goes (`packet_notifier`).
    pub(super) fn is_bound(&self) -> bool {
        self.address().is_ok_and(|address| u32::try_from(address.sll_ifindex) == Ok(self.index))
    }

    /// What it is bound to.
    fn address(&self) -> io::Result<libc::sockaddr_ll> {
        let mut address = address(0, 0);
        let mut len = size_of_val(&address) as libc::socklen_t;
        // SAFETY: the kernel writes at most `len` bytes, which is what the address has, and any bytes will do for its numbers.
        check(unsafe { libc::getsockname(self.fd.as_raw_fd(), (&raw mut address).cast(), &raw mut len) })?;
        Ok(address)
    }

    /// Says whether the device is to bring in frames for other stations too, as long as the socket is open.
    pub(super) fn set_promiscuous(&self, wanted: bool) -> Result<(), OpenError> {
        let request = libc::packet_mreq {
            mr_ifindex: self.index as libc::c_int,
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        let option = if wanted { libc::PACKET_ADD_MEMBERSHIP } else { libc::PACKET_DROP_MEMBERSHIP };
        let step = Step::Promiscuous;
        self.set(libc::SOL_PACKET, option, &request).map_err(|error| OpenError { step, error })
    }

    /// Says whether frames are let in that others on this machine send by the device. What this socket sends, or one of its group, the kernel
    /// never hands to it (`skb_loop_sk`); what leaves by a loopback device comes in at once, and is seen then.
    pub(super) fn set_outgoing(&self, wanted: bool) -> Result<(), OpenError> {
        let ignored = libc::c_int::from(!wanted || self.is_loopback);
        let step = Step::Socket;
        self.set(libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &ignored)
            .map_err(|error| OpenError { step, error })
    }

    /// Joins a group whose sockets share the frames of the device, for as long as the socket is open. All in it have to ask for the same
    /// `outgoing`; of other programs, few set the flag that keeps outgoing frames from the group.
    pub(super) fn join(&self, options: &AfPacket) -> Result<(), OpenError> {
        let AfPacket { fanout: Some(group), outgoing, fanout_addresses, .. } = *options else {
            return Ok(());
        };
        let flag = if outgoing && !self.is_loopback { 0 } else { PACKET_FANOUT_FLAG_IGNORE_OUTGOING };
        let step = Step::Fanout { could_see_outgoing: !outgoing && !self.is_loopback };
        let by = if fanout_addresses.is_some() { PACKET_FANOUT_CBPF } else { libc::PACKET_FANOUT_HASH };
        let value = libc::c_uint::from(group) | (by | flag) << 16;
        let joined = self.set(libc::SOL_PACKET, libc::PACKET_FANOUT, &value);
        let shared = joined.and_then(|()| match fanout_addresses {
            Some(addresses) => self.set_program(PACKET_FANOUT_DATA, &mut addresses.program()),
            None => Ok(()),
        });
        shared.map_err(|error| OpenError { step, error })
    }

    /// Gives the group of the socket a program, in place of the one that it had.
    fn set_program(&self, option: libc::c_int, program: &mut [libc::sock_filter]) -> io::Result<()> {
        let len = u16::try_from(program.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
        // The kernel copies the instructions.
        self.set(libc::SOL_PACKET, option, &libc::sock_fprog { len, filter: program.as_mut_ptr() })
    }

    /// Lets frames in again.
    pub(super) fn listen(&self) -> io::Result<()> {
        self.set(libc::SOL_SOCKET, libc::SO_DETACH_FILTER, &0_i32)
    }

    /// Has the kernel throw frames away at once: a classic BPF program accepts nothing.
    pub(super) fn ignore(&self) -> io::Result<()> {
        let mut nothing = [libc::sock_filter { code: 0x06, jt: 0, jf: 0, k: 0 }];
        let program = libc::sock_fprog { len: 1, filter: nothing.as_mut_ptr() };
        self.set(libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)
    }

    /// Sends through the socket what is written: for each frame its header, and its bytes.
    #[cfg(test)]
    pub(super) fn file(&self) -> std::fs::File {
        self.fd.try_clone().expect("a descriptor").into()
    }

    /// Has the kernel say when it received each frame, from now on.
    pub(super) fn ask_for_times(&self) -> io::Result<()> {
        self.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1_i32)
    }

    fn set<T>(&self, level: libc::c_int, option: libc::c_int, value: &T) -> io::Result<()> {
        set(self.fd.as_fd(), level, option, value)
    }

    /// Frames that the kernel has dropped since this was asked before, since the socket's queue was full.
    pub(super) fn dropped(&self) -> io::Result<u32> {
        let mut stats = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
        let mut len = size_of_val(&stats) as libc::socklen_t;
        let fd = self.fd.as_raw_fd();
        // SAFETY: the kernel writes at most `len` bytes, which is what `stats` has, and any bytes will do for numbers.
        check(unsafe {
            let stats = (&raw mut stats).cast();
            libc::getsockopt(fd, libc::SOL_PACKET, libc::PACKET_STATISTICS, stats, &raw mut len)
        })?;
        Ok(stats.tp_drops)
    }

    /// Lets no frame in any more, and takes those out that are in the queue. Returns how many are lost, with those that the kernel has
    /// dropped since it was asked.
    pub(super) fn empty(&self) -> u64 {
        let mut lost = 0;
        if self.ignore().is_ok() {
            let mut start = [0_u8; 16];
            let (fd, flags) = (self.fd.as_raw_fd(), libc::MSG_DONTWAIT | libc::MSG_TRUNC);
            loop {
                // SAFETY: the kernel writes no more bytes than `start` has, during the call.
                let received = unsafe { libc::recv(fd, start.as_mut_ptr().cast(), start.len(), flags) };
                match io::Error::last_os_error().raw_os_error() {
                    _ if received >= 0 => lost += 1,
                    // A frame for which there is no header: the kernel has taken it out.
                    Some(libc::EINVAL) => lost += 1,
                    // The device went down: told once, before the frames that came until then.
                    Some(libc::ENETDOWN | libc::EINTR) => {}
                    _ => break,
                }
            }
        }
        lost + u64::from(self.dropped().unwrap_or(0))
    }

    /// Receives frames into packets, of which all bytes are overwritten in turn, and where they are longer into `rests`, [`REST_MAX`] bytes
    /// for each; says what is known of each, and whom it was for if `asks_type`. Returns how many; an error if there is none.
    pub(super) fn receive(
        &self,
        packets: &mut [Packet],
        rests: &mut [u8],
        received: &mut [Received],
        asks_type: bool,
    ) -> io::Result<usize> {
        let count = packets.len().min(received.len()).min(rests.len() / REST_MAX).min(BURST_MAX);
        let mut controls = [Control([0; CONTROL_LEN]); BURST_MAX];
        let mut headers: [Header; BURST_MAX] = [offload::PLAIN; BURST_MAX];
        let mut vectors = [[EMPTY_VECTOR; 3]; BURST_MAX];
        let mut messages = [EMPTY_MESSAGE; BURST_MAX];
        let mut senders = [address(0, 0); BURST_MAX];
        let header_len = if self.has_header { HEADER_LEN } else { 0 };
        let rests = rests.chunks_exact_mut(REST_MAX);
        for (index, (packet, rest)) in packets[..count].iter_mut().zip(rests).enumerate() {
            vectors[index] = [&mut headers[index][..header_len], packet.data_mut(), rest]
                .map(|bytes| libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() });
            let header = &mut messages[index].msg_hdr;
            header.msg_iov = vectors[index].as_mut_ptr();
            header.msg_iovlen = 3;
            header.msg_control = controls[index].0.as_mut_ptr().cast();
            header.msg_controllen = size_of::<Control>() as _;
            if asks_type {
                header.msg_name = (&raw mut senders[index]).cast();
                header.msg_namelen = size_of::<libc::sockaddr_ll>() as _;
            }
        }
        let fd = self.fd.as_raw_fd();
        // SAFETY: `count` messages are initialised. Each points to three vectors, those to a header and to the bytes of a packet and of a rest
        // that are lent to us alone, to a control buffer, and perhaps to an address; all outlive the call, and are as long as stated.
        let got = check(unsafe {
            libc::recvmmsg(
                fd,
                messages.as_mut_ptr(),
                count as _,
                libc::MSG_DONTWAIT as _,
                std::ptr::null_mut(),
            )
        })? as usize;
        for index in 0..got {
            let message = &messages[index];
            received[index] = Received {
                len: (message.msg_len as usize).saturating_sub(header_len),
                is_cut: message.msg_hdr.msg_flags & libc::MSG_TRUNC != 0,
                checksum: offload::missing_checksum(&headers[index]),
                datagram_len: offload::datagram_len(&headers[index]),
                // Where the kernel wrote nothing there are zeroes, which end the messages.
                told: Told::by(&controls[index].0),
                packet_type: senders[index].sll_pkttype,
            };
        }
        Ok(got)
    }

    /// Sends packets. Returns how many were taken, an error if not even the first.
    pub(super) fn send(&self, packets: &[Packet]) -> io::Result<usize> {
        let count = packets.len().min(BURST_MAX);
        let mut cuts = [None; BURST_MAX];
        let mut vectors = [[EMPTY_VECTOR; 4]; BURST_MAX];
        let mut messages = [EMPTY_MESSAGE; BURST_MAX];
        let first = usize::from(!self.has_header);
        // Where a frame does not say what it is, its address does.
        let mut addresses = [libc::ETH_P_IP, libc::ETH_P_IPV6].map(|protocol| address(protocol, self.index));
        for (index, packet) in packets[..count].iter().enumerate() {
            let data = packet.data();
            cuts[index] = self.cut(data);
            let parts: [&[u8]; 4] = match &cuts[index] {
                None => [&offload::PLAIN, data, &[], &[]],
                Some(Cut { header, len, sum_at, sum }) => {
                    [header, &data[..*sum_at], sum, &data[sum_at + sum.len()..*len]]
                }
            };
            let part_count = if cuts[index].is_some() { 4 } else { 2 };
            vectors[index] = parts
                .map(|part| libc::iovec { iov_base: part.as_ptr().cast_mut().cast(), iov_len: part.len() });
            messages[index].msg_hdr.msg_iov = vectors[index][first..].as_mut_ptr();
            messages[index].msg_hdr.msg_iovlen = (part_count - first) as _;
            if self.framing == Framing::Bare {
                let is_ipv6 = data.first().is_some_and(|first| first >> 4 == 6);
                messages[index].msg_hdr.msg_name = (&raw mut addresses[usize::from(is_ipv6)]).cast();
                messages[index].msg_hdr.msg_namelen = size_of::<libc::sockaddr_ll>() as _;
            }
        }
        let fd = self.fd.as_raw_fd();
        let flags = libc::MSG_DONTWAIT as _;
        // SAFETY: `count` messages are initialised, each points to some of four vectors, and those to a header, the bytes of a packet and
        // a sum; perhaps to an address. All outlive the call, and the kernel only reads the bytes.
        let sent = unsafe { libc::sendmmsg(fd, messages.as_mut_ptr(), count as _, flags) };
        Ok(check(sent)? as usize)
    }
}

/// A name that ends with a zero.
type DeviceName = [libc::c_char; libc::IFNAMSIZ];

// SAFETY: an `ifreq` is plain numbers and a union of plain numbers and pointers, for which zeroes will do.
const EMPTY_REQUEST: libc::ifreq = unsafe { std::mem::zeroed() };

const EMPTY_VECTOR: libc::iovec = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };

// SAFETY: a message header is plain numbers and pointers, and null pointers with lengths of zero say: nothing.
const EMPTY_MESSAGE: libc::mmsghdr = unsafe { std::mem::zeroed() };

/// The address of a device, for frames of a protocol.
pub(super) fn address(protocol: libc::c_int, index: u32) -> libc::sockaddr_ll {
    // SAFETY: the address is plain numbers, for which zeroes will do.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (protocol as u16).to_be();
    address.sll_ifindex = index as libc::c_int;
    address
}

/// Sets an option of a socket.
pub(super) fn set<T>(
    fd: BorrowedFd<'_>,
    level: libc::c_int,
    option: libc::c_int,
    value: &T,
) -> io::Result<()> {
    let len = size_of::<T>() as libc::socklen_t;
    // SAFETY: the value is initialised and of the length given; the kernel reads it during the call only. A pointer in
    // it (of `sock_fprog`) points to what lives as long as the call of this function.
    check(unsafe { libc::setsockopt(fd.as_raw_fd(), level, option, (&raw const *value).cast(), len) })?;
    Ok(())
}

pub(super) fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
