//! Warnings about filters that compile but may not mean what their author thinks.

use super::id::left_aligned;
use super::lowerer::Lowerer;
use crate::Span;
use crate::diag::{Code, Diagnostic};
use crate::ir::tree::{TreeId, TreeNode};
use crate::ir::{BinOp, CmpOp, Cond, Value, ValueId};
use crate::syntax::ast::{Id, Kind, Proto, Quals, RelOp};
use crate::syntax::range;
use std::net::Ipv4Addr;

/// More than this nobody reads.
const LINTS_MAX: usize = 100;
/// Enough for `proto 300`, which is looked for in both versions of IP, as ports are.
const NODES_LOOKED_AT: u32 = 64;

impl Lowerer<'_> {
    /// Adds a warning at the primitive at hand, unless it was given there before.
    pub(crate) fn lint(&mut self, lint: Diagnostic) {
        let known = self.lints.iter().any(|other| other.code == lint.code && other.span == lint.span);
        if !known && self.lints.len() < LINTS_MAX {
            self.lints.push(lint);
        }
    }

    /// `tcp[…]` looks at IPv4 only. Said once a filter.
    pub(crate) fn lint_ip4_only(&mut self, proto: Proto) {
        let has_ip6 = matches!(proto, Proto::Tcp | Proto::Udp | Proto::Sctp | Proto::Pim);
        let said = self.lints.iter().any(|lint| lint.code == Code::NoIpv6);
        if !has_ip6 || said || self.options.dialect.ipv6 {
            return;
        }
        let word = proto.name();
        let lint = Diagnostic::new(Code::NoIpv6, self.span, format!("`{word}[…]` never sees IPv6 packets"))
            .help("the `ipv6` dialect looks there too; without it, `ip6[40 + …]` reads behind a plain IPv6 header");
        self.lint(lint);
    }

    /// An address that is another than it looks, alone or as the member of a set.
    pub(crate) fn lint_address(&mut self, quals: Quals, id: &Id, is_member: bool) {
        let found = match (quals.kind, quals.proto, id) {
            (None | Some(Kind::Host), None, &Id::Number(number)) => port_as_host(number, quals, is_member),
            (None | Some(Kind::Host), proto, &Id::V4 { value, bits: bits @ ..32 })
                if proto != Some(Proto::Decnet) =>
            {
                Some(net_as_host(left_aligned(value, bits), bits, quals, is_member))
            }
            _ => None,
        };
        if let Some((message, help)) = found {
            self.lint(Diagnostic::new(Code::OtherAddress, self.span, message).help(help));
        }
        if let Some(words) = all_of_them(quals, id) {
            self.lint(Diagnostic::new(Code::AlwaysTrue, self.span, words));
        }
    }

    /// A primitive that came out as a constant, or compares a field with a number that does not fit it.
    pub(crate) fn lint_constant(&mut self, test: TreeId) {
        match self.tree.node(test) {
            TreeNode::True => self.lint_truth(true),
            _ if self.is_never(test, &mut { NODES_LOOKED_AT }) => self.lint_truth(false),
            _ => {}
        }
    }

    /// Whether a test holds for no packet, whatever it loads; not known of one with more nodes than are left, which also
    /// bounds the recursion.
    fn is_never(&self, test: TreeId, nodes_left: &mut u32) -> bool {
        let Some(left) = nodes_left.checked_sub(1) else { return false };
        *nodes_left = left;
        match self.tree.node(test) {
            TreeNode::False => true,
            TreeNode::And(a, b) => self.is_never(a, nodes_left) || self.is_never(b, nodes_left),
            TreeNode::Or(a, b) => self.is_never(a, nodes_left) && self.is_never(b, nodes_left),
            TreeNode::Test(cond) => match self.tree.pool.get_cond(cond) {
                Cond::Cmp(CmpOp::Eq, a, b) => {
                    let (a, b) = (self.range(a), self.range(b));
                    a.1 < b.0 || b.1 < a.0
                }
                _ => false,
            },
            TreeNode::True | TreeNode::In(_) | TreeNode::Eval(_) | TreeNode::Not(_) => false,
        }
    }

    /// A comparison that the widths of its operands decide.
    pub(crate) fn lint_range(&mut self, op: RelOp, a: ValueId, b: ValueId) {
        let is_same = a == b;
        let (a, b) = (self.range(a), self.range(b));
        let less = if a.1 < b.0 {
            Some(true)
        } else if is_same || a.0 >= b.1 {
            Some(false)
        } else {
            None
        };
        let greater = if a.0 > b.1 {
            Some(true)
        } else if is_same || a.1 <= b.0 {
            Some(false)
        } else {
            None
        };
        let equal = match (less, greater) {
            (Some(true), _) | (_, Some(true)) => Some(false),
            (Some(false), Some(false)) => Some(true),
            _ => None,
        };
        let truth = match op {
            RelOp::Eq => equal,
            RelOp::Ne => equal.map(|equal| !equal),
            RelOp::Lt => less,
            RelOp::Ge => less.map(|less| !less),
            RelOp::Gt => greater,
            RelOp::Le => greater.map(|greater| !greater),
        };
        if let Some(truth) = truth {
            self.lint_truth(truth);
        }
    }

    fn lint_truth(&mut self, truth: bool) {
        let (code, words) = match truth {
            true => (Code::AlwaysTrue, "this is true of every packet that has the bytes it reads"),
            false => (Code::AlwaysFalse, "this is true of no packet"),
        };
        self.lint(Diagnostic::new(code, self.span, words));
    }

    /// The smallest and largest number that a value can be, by its own form.
    fn range(&self, value: ValueId) -> (u32, u32) {
        match self.tree.pool.get(value) {
            Value::Const(k) => (k, k),
            Value::Load { size, .. } => (0, size.max()),
            // Equal values are one.
            Value::Op(BinOp::Sub | BinOp::Xor, a, b) if a == b => (0, 0),
            Value::Op(BinOp::And, _, mask) => (0, self.tree.pool.as_const(mask).unwrap_or(u32::MAX)),
            Value::Len | Value::Input(_) | Value::Op(..) => (0, u32::MAX),
        }
    }

    /// `not` over a relation that loads.
    pub(crate) fn lint_negated_load(&mut self, whole: Span) {
        let lint = Diagnostic::new(
            Code::NotOverLoad,
            whole,
            "a packet too short for a field read here is rejected, `not` or no `not`",
        );
        self.lint(lint);
    }
}

/// `net 0.0.0.0/0` and `portrange 0-65535`, which ask for less than they seem to.
fn all_of_them(quals: Quals, id: &Id) -> Option<&'static str> {
    const PORTS: [(u32, u32); 2] = [(0, 65535), (65535, 0)];
    match (quals.kind, id) {
        (_, Id::V4Prefix { len: 0, .. } | Id::V4Mask { mask: 0, .. }) => {
            Some("every IPv4 address is in this network: only the protocol is asked for")
        }
        (_, Id::V6Prefix(_, 0)) => {
            Some("every IPv6 address is in this network: only the protocol is asked for")
        }
        (Some(Kind::Portrange), Id::Name(name))
            if range::numbers(name).is_some_and(|ends| PORTS.contains(&ends)) =>
        {
            Some("every port is in this range: it is only asked whether there are ports")
        }
        _ => None,
    }
}

/// `src 80`, which is the host 0.0.0.80. Nobody means a host whose number is that of a port; 0 is none that packets are sent to.
fn port_as_host(number: u32, quals: Quals, is_member: bool) -> Option<(String, String)> {
    let number = u16::try_from(number).ok().filter(|&number| number > 0)?;
    let address = Ipv4Addr::from(u32::from(number));
    let [port, host] = [Kind::Port, Kind::Host].map(|kind| Quals { kind: Some(kind), ..quals });
    let help = match is_member {
        true => format!("write `{port}in {{{number}}}` for the port, `{address}` for the host"),
        false => format!("write `{port}{number}` for the port, `{host}{address}` for the host"),
    };
    Some((format!("this is the host {address}, not a port"), help))
}

/// `host 10.1.2`, which is a net.
fn net_as_host(address: u32, len: u8, quals: Quals, is_member: bool) -> (String, String) {
    let (first, last) = (Ipv4Addr::from(address), Ipv4Addr::from(address | u32::MAX >> len));
    let quals = Quals { kind: Some(Kind::Net), ..quals };
    let quals = if is_member { String::new() } else { quals.to_string() };
    let help = format!("write `{quals}{first}/{len}` for these; one host has four numbers");
    (format!("this is a net: all hosts from {first} to {last}"), help)
}
