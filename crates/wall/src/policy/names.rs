//! Names of servers: which of the domains that a policy names a name lies in.
//!
//! The domains are nodes of a tree by their labels, from the last; nodes are numbered in the order of a walk, children behind their parent. So the domains
//! that a name lies in are told by one number, that of the deepest node that it passes, and `sni example.com` asks whether that number lies in one range:
//!
//! ```text
//! com 1 ── example.com 2 ── www.example.com 3        sni example.com: 4..=7
//! org 4                                              sni *.example.com: 5..=7
//! ```
//!
//! A name has twice the number of its node, and one more if it has further labels.

use std::collections::{BTreeMap, HashSet};

/// A domain, as its labels are compared: in lower case, without a dot at either end. `None` if it cannot be one.
pub(super) fn domain(text: &str) -> Option<String> {
    let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
    let is_label = |label: &str| {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_') || byte >= 0x80;
        (1..=63).contains(&label.len()) && label.bytes().all(is_part)
    };
    (name.len() <= 253 && name.split('.').all(is_label)).then_some(name)
}

/// The domains that rules name one by one.
#[derive(Clone, Debug, Default)]
pub(super) struct DomainTree {
    nodes: Vec<Node>,
}

#[derive(Clone, Debug, Default)]
struct Node {
    children: BTreeMap<Box<str>, u32>,
    /// Its number, and the last one of those below it.
    range: (u32, u32),
}

impl DomainTree {
    /// Adds a domain.
    pub(super) fn add(&mut self, domain: &str) {
        if self.nodes.is_empty() {
            self.nodes.push(Node::default());
        }
        let mut at = 0;
        for label in domain.rsplit('.') {
            let next = self.nodes.len() as u32;
            let child = *self.nodes[at].children.entry(label.into()).or_insert(next);
            if child == next {
                self.nodes.push(Node::default());
            }
            at = child as usize;
        }
    }

    /// Gives all domains their numbers, from 1.
    pub(super) fn number(&mut self) {
        let mut next = 0;
        // Nodes on the way, and the children that are still to be walked.
        let mut way: Vec<(usize, Vec<u32>)> = Vec::new();
        if self.nodes.is_empty() {
            return;
        }
        way.push((0, self.nodes[0].children.values().rev().copied().collect()));
        while let Some((at, left)) = way.last_mut() {
            match left.pop() {
                Some(child) => {
                    let child = child as usize;
                    next += 1;
                    self.nodes[child].range.0 = next;
                    way.push((child, self.nodes[child].children.values().rev().copied().collect()));
                }
                None => {
                    self.nodes[*at].range.1 = next;
                    way.pop();
                }
            }
        }
    }

    /// The numbers of the names that are a domain which was added, or lie in it.
    pub(super) fn range(&self, domain: &str) -> Option<(u32, u32)> {
        let mut at = 0;
        for label in domain.rsplit('.') {
            at = *self.nodes.get(at)?.children.get(label)? as usize;
        }
        let (low, high) = self.nodes[at].range;
        Some((2 * low, 2 * high + 1))
    }

    /// The number of a name, 0 if it lies in none of the domains.
    pub(super) fn number_of(&self, name: &str) -> u32 {
        let (mut at, mut is_below) = (0, false);
        for label in name.rsplit('.') {
            match self.nodes.get(at).and_then(|node| node.children.get(label)) {
                Some(child) => at = *child as usize,
                None => {
                    is_below = true;
                    break;
                }
            }
        }
        if at == 0 { 0 } else { 2 * self.nodes[at].range.0 + u32::from(is_below) }
    }
}

/// Domains of a set.
#[derive(Clone, Debug, Default)]
pub(super) struct DomainSet(HashSet<Box<str>>);

impl DomainSet {
    pub(super) fn add(&mut self, domain: String) {
        self.0.insert(domain.into());
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether a name lies in one of them.
    pub(super) fn has(&self, name: &str) -> bool {
        let mut rest = name;
        loop {
            if self.0.contains(rest) {
                return true;
            }
            match rest.split_once('.') {
                Some((_, parent)) => rest = parent,
                None => return false,
            }
        }
    }

    /// Bytes that it takes, about.
    pub(super) fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<Box<str>>() + self.0.iter().map(|name| name.len()).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_lies_in_the_domains_above_it() {
        let mut tree = DomainTree::default();
        let domains = ["example.com", "www.example.com", "org", "a.b.example.com", "example.net"];
        domains.iter().for_each(|domain| tree.add(domain));
        tree.number();
        for name in [
            "example.com",
            "www.example.com",
            "x.www.example.com",
            "b.example.com",
            "c.com",
            "com",
            "y.org",
            "",
            "example.org",
        ] {
            let number = tree.number_of(name);
            for domain in domains {
                let (low, high) = tree.range(domain).unwrap();
                let lies_in = name == domain || name.ends_with(&format!(".{domain}"));
                assert_eq!((low..=high).contains(&number), lies_in, "{name} in {domain}");
                assert_eq!(
                    (low + 1..=high).contains(&number),
                    lies_in && name != domain,
                    "{name} below {domain}"
                );
            }
        }
        assert_eq!(tree.range("nowhere.example"), None);
        assert_eq!(DomainTree::default().number_of("a.b"), 0);
    }

    #[test]
    fn sets_have_what_lies_below_their_domains() {
        let mut set = DomainSet::default();
        set.add("example.com".to_owned());
        for (name, expected) in [
            ("example.com", true),
            ("a.example.com", true),
            ("aexample.com", false),
            ("com", false),
            ("", false),
        ] {
            assert_eq!(set.has(name), expected, "{name}");
        }
    }

    #[test]
    fn domains_are_in_one_form() {
        assert_eq!(domain("WWW.Example.COM.").as_deref(), Some("www.example.com"));
        for text in ["", ".", "a..b", "a b", "*.x", &"a".repeat(64)] {
            assert_eq!(domain(text), None, "{text}");
        }
    }
}
