//! Many-way branches as C, by size and shape.
//!
//! ```text
//! up to 4 arms with one target        x == 80 || x == 443 || (x >= 8000 && x <= 8100)
//! few single values                   switch (x), which compilers turn into jumps, bits or a tree
//! more, or ranges with many values    a sorted array, searched without branches that depend on x
//! ```

use super::Writer;
use super::text::number;
use super::values::Question;
use crate::ir::{Arm, NodeId, ValueId};
use crate::target::lir::switch::one_target;
use std::collections::HashMap;
use std::fmt::Write;

/// Up to this many arms with one target are one question.
const TESTS_MAX: usize = 4;
/// Up to this many values are cases of a `switch`.
const CASES_MAX: u64 = 64;
/// How wide a line of cases or of an array may be.
const WIDTH: usize = 96;

impl Writer<'_> {
    /// The lines of a switch over a value that stands in its variable; the arms differ from the default.
    pub(super) fn many(
        &mut self,
        id: NodeId,
        value: ValueId,
        arms: &[Arm],
        default: NodeId,
        next: Option<NodeId>,
        lines: &mut String,
    ) {
        let x = self.values.operand(value);
        let values: u64 = arms.iter().map(|arm| u64::from(arm.high - arm.low) + 1).sum();
        if one_target(arms) && arms.len() <= TESTS_MAX {
            let then = arms.first().map_or(default, |arm| arm.target);
            return self.decide(id, &any_of(&x, arms), [then, default], next, lines);
        }
        if values <= CASES_MAX {
            self.cases(id, &x, arms, default, next, lines);
        } else {
            self.search(id, &x, arms, default, next, lines);
        }
    }

    /// A `switch`.
    fn cases(
        &mut self,
        id: NodeId,
        x: &str,
        arms: &[Arm],
        default: NodeId,
        next: Option<NodeId>,
        lines: &mut String,
    ) {
        self.line(id, &format!("switch ({x}) {{"), lines);
        for target in targets(arms) {
            let of_target = arms.iter().filter(|arm| arm.target == target);
            let labels = of_target.flat_map(|arm| arm.low..=arm.high).map(|k| format!("case {}:", number(k)));
            wrapped(labels, "    ", lines);
            let _ = writeln!(lines, "        {}", self.jump_or_break(target, next));
        }
        let _ = writeln!(lines, "    default:\n        {}\n    }}", self.jump_or_break(default, next));
    }

    fn jump_or_break(&mut self, to: NodeId, next: Option<NodeId>) -> String {
        if next == Some(to) { "break;".to_owned() } else { self.jump(to) }
    }

    /// A search for the last arm that begins at `x` or before.
    fn search(
        &mut self,
        id: NodeId,
        x: &str,
        arms: &[Arm],
        default: NodeId,
        next: Option<NodeId>,
        lines: &mut String,
    ) {
        let singles = arms.iter().all(|arm| arm.low == arm.high);
        let targets = targets(arms);

        // What is looked up: where arms begin, where they end unless that is the same, and what each leads to.
        let low = self.tables.name(arms.iter().map(|arm| arm.low));
        let miss = if singles {
            format!("*at != {x}")
        } else {
            let high = self.tables.name(arms.iter().map(|arm| arm.high));
            format!("{x} < *at || {x} > {high}[at - {low}]")
        };
        let leaves: Option<Vec<u32>> = arms.iter().map(|arm| self.answer(arm.target)).collect();
        let index = |arm: &Arm| targets.binary_search(&arm.target).unwrap_or_default() as u32;
        let found = match &leaves {
            _ if targets.len() == 1 => String::new(),
            Some(leaves) => self.tables.name(leaves.iter().copied()),
            None => self.tables.name(arms.iter().map(index)),
        };

        // The search.
        self.line(id, "{", lines);
        let _ = write!(
            lines,
            "        const uint32_t *at = {low};\n        size_t n = {};\n\n        while (n > 1) {{\n            \
             size_t half = n / 2;\n\n            at += at[half] <= {x} ? half : 0;\n            n -= half;\n        }}\n",
            arms.len()
        );
        let _ = writeln!(lines, "        if ({miss}) {}", self.jump(default));

        // Where it leads.
        match (&targets[..], leaves) {
            ([only], _) if next == Some(*only) => {}
            ([only], _) => {
                let _ = writeln!(lines, "        {}", self.jump(*only));
            }
            (_, Some(_)) => {
                let _ = writeln!(lines, "        return {found}[at - {low}];");
            }
            (several, None) => {
                let _ = writeln!(lines, "        switch ({found}[at - {low}]) {{");
                let (last, others) = several.split_last().expect("more than one target");
                for (i, &target) in others.iter().enumerate() {
                    let _ = writeln!(lines, "        case {i}: {}", self.jump(target));
                }
                let _ = writeln!(lines, "        default: {}\n        }}", self.jump(*last));
            }
        }
        lines.push_str("    }\n");
    }
}

/// The targets of arms, each once, ascending.
fn targets(arms: &[Arm]) -> Vec<NodeId> {
    let mut targets: Vec<NodeId> = arms.iter().map(|arm| arm.target).collect();
    targets.sort_unstable();
    targets.dedup();
    targets
}

/// Whether `x` lies in one of few arms.
fn any_of(x: &str, arms: &[Arm]) -> Question {
    let alone = arms.len() == 1;
    let test = |arm: &Arm| match (arm.low, arm.high) {
        (0, u32::MAX) => None,
        (low, high) if low == high => Some(format!("{x} == {}", number(low))),
        (0, high) => Some(format!("{x} <= {}", number(high))),
        (low, u32::MAX) => Some(format!("{x} >= {}", number(low))),
        (low, high) if alone => Some(format!("{x} >= {} && {x} <= {}", number(low), number(high))),
        (low, high) => Some(format!("({x} >= {} && {x} <= {})", number(low), number(high))),
    };
    let Some(tests) = arms.iter().map(test).collect::<Option<Vec<String>>>() else {
        return Question::Known(true);
    };
    match &arms {
        [] => Question::Known(false),
        [arm] if arm.low == arm.high => {
            Question::Asked { yes: tests[0].clone(), no: format!("{x} != {}", number(arm.low)) }
        }
        _ => {
            let yes = tests.join(" || ");
            Question::Asked { no: format!("!({yes})"), yes }
        }
    }
}

/// Arrays of numbers, each of them once: what is asked of a source is mostly asked of a destination as well.
#[derive(Default)]
pub(super) struct Tables {
    names: HashMap<Vec<u32>, String>,
    pub(super) declarations: String,
}

impl Tables {
    /// The name of the array with these numbers.
    fn name(&mut self, numbers: impl Iterator<Item = u32>) -> String {
        let numbers: Vec<u32> = numbers.collect();
        let next = format!("table{}", self.names.len());
        let declarations = &mut self.declarations;
        let name = self.names.entry(numbers).or_insert_with_key(|numbers| {
            let _ = writeln!(declarations, "    static const uint32_t {next}[{}] = {{", numbers.len());
            wrapped(numbers.iter().map(|&k| format!("{},", number(k))), "        ", declarations);
            declarations.push_str("    };\n");
            next
        });
        name.clone()
    }
}

/// Words, as many to a line as fit.
fn wrapped(words: impl Iterator<Item = String>, indent: &str, lines: &mut String) {
    let mut width = 0;
    for word in words {
        if width + 1 + word.len() > WIDTH {
            lines.push('\n');
            width = 0;
        }
        lines.push_str(if width == 0 { indent } else { " " });
        width += word.len() + if width == 0 { indent.len() } else { 1 };
        lines.push_str(&word);
    }
    lines.push('\n');
}
