//! A persistent map: changing it leaves every older version as it was, and shares nearly all of it.
//!
//! A four-way trie over the bits of a mixed key, with path copying. Mixing is a bijection on 64 bits, so two keys
//! part at the 32nd level at the latest: depth is bounded whatever the keys.

/// One version of the map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Root(u32);

impl Root {
    pub(super) const EMPTY: Root = Root(0);
}

/// The storage of all versions. Keys and values are plain numbers.
#[derive(Debug)]
pub(super) struct Trie {
    /// Inner nodes; entry 0 is never used, so that 0 can mean "nothing here".
    inner: Vec<[u32; 4]>,
    leaves: Vec<(u64, u32)>,
}

/// Marks a reference to a leaf.
const LEAF: u32 = 1 << 31;

impl Trie {
    /// With room for about this many insertions into small versions.
    pub(super) fn with_capacity(insertions: usize) -> Self {
        let mut inner = Vec::with_capacity(2 * insertions + 1);
        inner.push([0; 4]);
        Trie { inner, leaves: Vec::with_capacity(insertions) }
    }

    /// The value of `key` in this version.
    pub(super) fn get(&self, root: Root, key: u64) -> Option<u32> {
        let (mut at, mut path) = (root.0, mix(key));
        while at != 0 && at & LEAF == 0 {
            at = self.inner[at as usize][(path & 3) as usize];
            path >>= 2;
        }
        let &(found, value) = self.leaves.get((at & !LEAF) as usize).filter(|_| at != 0)?;
        (found == key).then_some(value)
    }

    /// The version that differs in the value of `key`.
    pub(super) fn insert(&mut self, root: Root, key: u64, value: u32) -> Root {
        let leaf = LEAF | self.leaves.len() as u32;
        self.leaves.push((key, value));
        self.place(root.0, key, leaf)
    }

    /// Copies the path to where `key` belongs: down along the old one, each copy linked to the next.
    fn place(&mut self, root: u32, key: u64, leaf: u32) -> Root {
        let path = mix(key);
        let (mut at, mut shift) = (root, 0);
        let mut top = None;
        let mut link: Option<(usize, usize)> = None;
        loop {
            let new = match self.copy(at, key, shift) {
                Some(node) => {
                    self.inner.push(node);
                    self.inner.len() as u32 - 1
                }
                None => leaf,
            };
            match link {
                Some((node, slot)) => self.inner[node][slot] = new,
                None => top = Some(new),
            }
            if new & LEAF != 0 {
                return Root(top.unwrap_or(leaf));
            }
            let slot = (path >> shift & 3) as usize;
            link = Some((new as usize, slot));
            at = self.inner[new as usize][slot];
            shift += 2;
        }
    }

    /// The inner node to put in place of `at`, `shift` bits down the key; `None` where the leaf itself goes.
    fn copy(&self, at: u32, key: u64, shift: u32) -> Option<[u32; 4]> {
        if at == 0 {
            return None;
        }
        if at & LEAF == 0 {
            return Some(self.inner[at as usize]);
        }
        let (other, _) = self.leaves[(at & !LEAF) as usize];
        if other == key {
            return None;
        }
        let mut node = [0; 4];
        node[(mix(other) >> shift & 3) as usize] = at;
        Some(node)
    }
}

fn mix(key: u64) -> u64 {
    let x = (key ^ key >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x ^ x >> 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn versions_are_independent() {
        let mut trie = Trie::with_capacity(0);
        let mut versions = vec![(Root::EMPTY, BTreeMap::new())];
        for i in 0..2000u64 {
            let (root, mut map) = versions[(i as usize * 7919) % versions.len()].clone();
            let key = ((i * 31) % 257) | ((i % 3) << 32);
            map.insert(key, i as u32);
            versions.push((trie.insert(root, key, i as u32), map));
        }
        for (root, map) in &versions {
            assert!(
                (0..3)
                    .flat_map(|hi| (0..257).map(move |lo| hi << 32 | lo))
                    .all(|key| { trie.get(*root, key) == map.get(&key).copied() })
            );
        }
    }
}
