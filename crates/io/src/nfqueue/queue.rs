//! The socket of a queue: packets come in, verdicts go out.

use super::netlink::{self, Event};
use rustix::io::Errno;
use rustix::net::netlink::{NETFILTER, SocketAddrNetlink};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, send, socket_with, sockopt,
};
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Bytes of the longest message: headers, attributes and the longest packet.
pub(super) const MESSAGE_MAX: usize = 68 << 10;
/// Bytes asked for the socket's queue, beside which the queue of packets has its own limit.
const SOCKET_LEN: usize = 8 << 20;

/// The socket of a queue. The queue ends with it: the kernel drops what is in it.
#[derive(Debug)]
pub(super) struct Queue {
    fd: OwnedFd,
    number: u16,
}

impl AsFd for Queue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Why a queue cannot be had.
#[derive(Debug)]
pub(super) enum OpenError {
    /// The kernel has no such sockets.
    Socket(io::Error),
    /// It does not give us the queue.
    Bind(io::Error),
}

impl Queue {
    /// Takes a queue, which holds `len` packets.
    pub(super) fn open(number: u16, len: u32, flags: u32) -> Result<Self, OpenError> {
        let kind = SocketFlags::CLOEXEC;
        let fd = socket_with(AddressFamily::NETLINK, SocketType::RAW, kind, Some(NETFILTER))
            .map_err(|error| OpenError::Socket(error.into()))?;
        let queue = Queue { fd, number };
        let refused = |error: Errno| OpenError::Bind(error.into());
        bind(&queue.fd, &SocketAddrNetlink::new(0, 0)).map_err(refused)?;
        // As much as we are allowed; a short queue works too.
        let _ = sockopt::set_socket_recv_buffer_size_force(&queue.fd, SOCKET_LEN)
            .or_else(|_| sockopt::set_socket_recv_buffer_size(&queue.fd, SOCKET_LEN));
        for message in netlink::bind(number, len, flags) {
            send(&queue.fd, &message, SendFlags::empty()).map_err(refused)?;
            queue.await_answer().map_err(OpenError::Bind)?;
        }
        Ok(queue)
    }

    /// Waits for the answer to what was sent: without CAP_NET_ADMIN, an error comes there only. Packets may come first; the kernel drops those as
    /// the queue is closed if it is refused, and else only the first message can have been answered.
    fn await_answer(&self) -> io::Result<()> {
        let mut buffer = vec![0; MESSAGE_MAX];
        loop {
            let (len, _) = match recv(&self.fd, &mut buffer[..], RecvFlags::empty()) {
                Err(Errno::INTR) => continue,
                received => received?,
            };
            for event in netlink::events(&buffer[..len]) {
                match event {
                    Event::Answer(0) => return Ok(()),
                    Event::Answer(error) => return Err(io::Error::from_raw_os_error(-error)),
                    Event::Packet(_) => {}
                }
            }
        }
    }

    /// Reads what comes next. `Ok(None)` if there is nothing.
    ///
    /// # Errors
    /// `ENOBUFS` if the kernel has lost messages.
    pub(super) fn receive<'b>(&self, buffer: &'b mut [u8]) -> io::Result<Option<&'b [u8]>> {
        match recv(&self.fd, &mut *buffer, RecvFlags::DONTWAIT) {
            Ok((len, _)) => Ok(Some(&buffer[..len])),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends messages in one call.
    pub(super) fn send(&self, messages: &[u8]) -> io::Result<()> {
        loop {
            match send(&self.fd, messages, SendFlags::empty()) {
                Err(Errno::INTR) => {}
                sent => return sent.map(drop).map_err(io::Error::from),
            }
        }
    }

    /// Packets that the kernel has dropped since the queue was made, as it was full, or could not tell us of them.
    pub(super) fn dropped(&self) -> Option<u64> {
        dropped_of(&queues()?, self.number)
    }
}

/// Who has a queue, in words; `None` if nobody has it.
pub(super) fn reader(number: u16) -> Option<String> {
    let port = column(&queues()?, number, PORT)?;
    // A process's first socket has its number as its port.
    let name = fs::read_to_string(format!("/proc/{port}/comm"));
    Some(match name {
        Ok(name) => format!("process {port} (`{}`)", name.trim_end().escape_debug()),
        Err(_) => format!("netlink port {port} in /proc/net/netfilter/nfnetlink_queue"),
    })
}

/// All queues, a line each.
fn queues() -> Option<String> {
    fs::read_to_string("/proc/thread-self/net/netfilter/nfnetlink_queue").ok()
}

/// Columns from 0: number, port, waiting, mode, range, dropped as full, dropped as not told, last number (`seq_show` of nfnetlink_queue.c).
const PORT: usize = 1;
const DROPPED: [usize; 2] = [5, 6];

fn column(text: &str, queue: u16, column: usize) -> Option<u64> {
    let number = |line: &str, column| line.split_ascii_whitespace().nth(column)?.parse::<u64>().ok();
    text.lines().find(|line| number(line, 0) == Some(queue.into())).and_then(|line| number(line, column))
}

fn dropped_of(text: &str, queue: u16) -> Option<u64> {
    DROPPED.iter().map(|&of| column(text, queue, of)).sum()
}

#[cfg(test)]
mod tests {
    use super::{PORT, column, dropped_of};

    #[test]
    fn drops_are_in_two_columns() {
        let text = "    3   1234     0 2 65531     1     0       77  1\n    7   4321     5 2 65531    12     3       99  1\n";
        assert_eq!([3, 7, 8].map(|queue| dropped_of(text, queue)), [Some(1), Some(15), None]);
        assert_eq!(dropped_of("7 1 2", 7), None);
        assert_eq!([3, 7, 8].map(|queue| column(text, queue, PORT)), [Some(1234), Some(4321), None]);
    }
}
