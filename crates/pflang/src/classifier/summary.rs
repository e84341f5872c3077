//! What a classifier is, for people and reports.

use super::Classifier;
use super::depends::{CommonHeader, depends};
use super::index::Worst;
use super::term::{Dim, Term};
use crate::ir::{Graph, Node, NodeId};
use std::fmt;

/// What became of a list of many clauses: the clauses that are looked up in tables, and the tables.
///
/// ```
/// use pflang::{Compiler, LinkType};
///
/// let clauses: Vec<String> = (0..300).map(|i| format!("src host 10.0.{}.{} => a{i}", i / 256, i % 256)).collect();
/// let matcher = Compiler::new(LinkType::EN10MB).compile_match(&format!("match {{ {} }}", clauses.join("; ")))?;
/// let looked_up = matcher.looked_up().unwrap();
/// assert_eq!((looked_up.clauses, looked_up.tables[0].fields.as_str()), (300, "source IPv4 address"));
/// # Ok::<(), pflang::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LookedUp {
    /// Clauses that are looked up. Those in blocks are written out, and the end of a block is one.
    pub clauses: usize,
    /// Boxes that these are in the tables.
    pub boxes: usize,
    /// Boxes of which a part is asked once a table has led to them.
    pub checks: usize,
    /// Different parts of tests that are compiled and asked by themselves, once a packet at most; also whether the arguments of a handler can be computed.
    pub residuals: usize,
    /// Leaves of the program of all other clauses.
    pub outside: usize,
    /// In the order in which a packet is looked up.
    pub tables: Vec<TableSummary>,
    /// Memory of the tables.
    pub bytes: usize,
}

/// A table.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableSummary {
    /// The fields that it is looked up by, in words.
    pub fields: String,
    /// Its boxes.
    pub boxes: usize,
    /// Memory.
    pub bytes: usize,
    /// What a packet costs at most, in words.
    pub worst: String,
}

impl fmt::Display for LookedUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LookedUp { clauses, boxes, checks, residuals, outside, tables, bytes } = self;
        let plural = |n: usize, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
        write!(
            f,
            "{} looked up: {} in {}, {bytes} bytes; {} behind them with {}; {} outside",
            plural(*clauses, "clause is", "clauses are"),
            plural(*boxes, "box", "boxes"),
            plural(tables.len(), "table", "tables"),
            plural(*checks, "check", "checks"),
            plural(*residuals, "residual test", "residual tests"),
            plural(*outside, "leaf", "leaves"),
        )
    }
}

impl fmt::Display for TableSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TableSummary { fields, boxes, bytes, worst } = self;
        write!(f, "by {fields}: {boxes} boxes, {bytes} bytes; at most {worst}")
    }
}

/// A field in words.
pub(super) fn field_name(dim: Dim, inputs: &[String]) -> String {
    match dim {
        Dim::V4(end) => format!("{} IPv4 address", ["source", "destination"][end]),
        Dim::V6(end) => format!("{} IPv6 address", ["source", "destination"][end]),
        Dim::Port(end) => format!("{} port", ["source", "destination"][end]),
        Dim::Input(slot) => format!("`{}`", inputs.get(slot as usize).map_or("input", String::as_str)),
    }
}

impl Classifier {
    /// What it is. `inputs` are the names of the numbers that are given with each packet.
    pub(crate) fn summary(&self, inputs: &[String]) -> LookedUp {
        let tables = self.tables.iter().map(|table| {
            let names: Vec<String> = table.dims.iter().map(|dim| field_name(*dim, inputs)).collect();
            let (fields, worst) = match table.worst() {
                Worst::Pieces { pieces, checks } => {
                    (names.join(" and "), format!("one of {pieces} pieces and {checks} checks"))
                }
                Worst::Rules(certificate) => {
                    let nodes = certificate.nodes;
                    let fields = names.into_iter().chain(["ports".to_owned()]).collect::<Vec<_>>();
                    let tables = certificate.tables.len();
                    (
                        fields.join(", "),
                        format!(
                            "{nodes} nodes and {} groups of 16 rules in {tables} tables",
                            certificate.groups
                        ),
                    )
                }
            };
            TableSummary { fields, boxes: table.terms, bytes: table.bytes(), worst }
        });
        let tables: Vec<TableSummary> = tables.collect();
        LookedUp {
            clauses: self.leaves.len(),
            boxes: tables.iter().map(|table| table.boxes).sum(),
            checks: self.checks.len(),
            residuals: self.atoms.kinds.len(),
            outside: self.outside.len(),
            bytes: tables.iter().map(|table| table.bytes).sum::<usize>()
                + size_of_val(&self.leaves[..])
                + size_of_val(&self.checks[..]),
            tables,
        }
    }

    /// Nodes of the graphs that it asks, and of tables as if each was one.
    pub(crate) fn nodes(&self) -> usize {
        let fields = self.fields.as_ref().map_or(0, |fields| fields.graph().node_count());
        fields + self.atoms.graph().map_or(0, Graph::node_count) + self.tables.len()
    }

    /// Nodes that a packet passes at most to have its fields found, and a look-up for each table.
    pub(crate) fn longest_path(&self) -> usize {
        let fields = self.fields.as_ref().map_or(0, |fields| longest_path(fields.graph()));
        fields + self.tables.len()
    }

    /// Whether an answer may depend on the length on the wire.
    pub(crate) fn reads_wire_len(&self) -> bool {
        self.atoms.graph().is_some_and(Graph::reads_wire_len)
    }

    /// Adds the places of the row that it reads; `false` if it reads something of packets that those with this header do not have in common.
    pub(crate) fn reads(&self, header: &CommonHeader, places: &mut Vec<usize>) -> bool {
        let of_tables = self.tables.iter().flat_map(|table| &table.dims);
        let of_checks = self.checks.iter().flat_map(Term::dims);
        for dim in of_tables.copied().chain(of_checks) {
            // The others are fields of packets.
            if let Dim::Input(slot) = dim {
                places.push(slot as usize);
            }
        }
        for atom in &self.atoms.kinds {
            if let super::AtomKind::Bits { slot, .. } = atom {
                places.push(*slot as usize);
            }
        }
        let own = self.atoms.inputs;
        self.fields.as_ref().is_none_or(|fields| fields.is_common(header))
            && self.atoms.graph().is_none_or(|graph| {
                let is_common = depends(graph, header, places).is_some();
                places.retain(|place| *place != own);
                is_common
            })
    }
}

/// Tests on the longest way through a graph.
pub(crate) fn longest_path(graph: &Graph) -> usize {
    let mut longest = vec![0_usize; graph.node_count()];
    for id in graph.topological().into_iter().rev() {
        let of = |id: NodeId| longest[id.index()];
        longest[id.index()] = match graph.node(id) {
            Node::Leaf(_) => 0,
            Node::Branch { then, els, .. } => 1 + of(*then).max(of(*els)),
            Node::Switch(switch) => {
                1 + switch.arms.iter().map(|arm| of(arm.target)).fold(of(switch.default), usize::max)
            }
        };
    }
    longest.get(graph.root.index()).copied().unwrap_or(0)
}
