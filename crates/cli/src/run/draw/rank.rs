//! In which column each app stands, and in which order within it.
//!
//! ```text
//! links that close a loop, found by a depth-first search, count for nothing
//! column of an app = 1 + the last column of those that send to it
//! a link over several columns gets a place of its own in each between, so that it leads around the apps
//! sweep to and fro: each place moves to the mean of those it is linked to; the order with the fewest crossings wins
//! ```
//! This is Sugiyama's method ("Methods for Visual Understanding of Hierarchical System Structures", 1981).

/// A place in a column: an app, or a link on its way past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    App(usize),
    Link,
}

/// Places in columns.
#[derive(Clone, Debug, Default)]
pub(super) struct Ranks {
    pub(super) places: Vec<Place>,
    /// The columns, from left to right, each from top to bottom.
    pub(super) columns: Vec<Vec<usize>>,
    /// Of each link: the places it leads through, its apps included. A link that closes a loop has only these two.
    pub(super) paths: Vec<Vec<usize>>,
    /// Whether a link closes a loop.
    pub(super) closes_loop: Vec<bool>,
}

/// Links that pass columns get no more places than this in all: beyond, they are drawn straight.
const PASSING_MAX: usize = 20_000;
/// Sweeps over the columns.
const SWEEPS: usize = 16;
/// Links up to which crossings are counted, which takes time by their square.
const COUNTED_MAX: usize = 500;

/// Ranks `apps` apps with these links, pairs of sender and receiver.
pub(super) fn rank(apps: usize, links: &[(usize, usize)]) -> Ranks {
    let closes_loop = loops(apps, links);
    let forward: Vec<(usize, usize)> =
        links.iter().zip(&closes_loop).filter(|(_, closes)| !**closes).map(|(link, _)| *link).collect();
    let column = columns(apps, &forward);
    let mut ranks = Ranks { places: (0..apps).map(Place::App).collect(), closes_loop, ..Ranks::default() };
    ranks.columns = vec![Vec::new(); column.iter().max().map_or(0, |last| last + 1)];
    (0..apps).for_each(|app| ranks.columns[column[app]].push(app));
    for (index, &(from, to)) in links.iter().enumerate() {
        let mut path = vec![from];
        let passed = if ranks.closes_loop[index] { 0..0 } else { column[from] + 1..column[to] };
        if ranks.places.len() + passed.len() <= apps + PASSING_MAX {
            for column in passed {
                ranks.columns[column].push(ranks.places.len());
                path.push(ranks.places.len());
                ranks.places.push(Place::Link);
            }
        }
        path.push(to);
        ranks.paths.push(path);
    }
    ranks.order();
    ranks
}

/// Which links close a loop.
fn loops(apps: usize, links: &[(usize, usize)]) -> Vec<bool> {
    let mut leaving = vec![Vec::new(); apps];
    let mut fed = vec![false; apps];
    for (index, &(from, to)) in links.iter().enumerate() {
        leaving[from].push(index);
        fed[to] |= from != to;
    }
    let mut closes = vec![false; links.len()];
    // 0: not seen; 1: on the way that is searched; 2: done.
    let mut state = vec![0_u8; apps];
    let roots = (0..apps).filter(|&app| !fed[app]).chain(0..apps);
    for root in roots {
        if state[root] != 0 {
            continue;
        }
        state[root] = 1;
        let mut stack = vec![(root, 0)];
        while let Some((app, next)) = stack.last_mut() {
            let app = *app;
            let Some(&link) = leaving[app].get(*next) else {
                state[app] = 2;
                stack.pop();
                continue;
            };
            *next += 1;
            let to = links[link].1;
            match state[to] {
                0 => {
                    state[to] = 1;
                    stack.push((to, 0));
                }
                1 => closes[link] = true,
                _ => {}
            }
        }
    }
    closes
}

/// The column of each app: the longest way to it, over links without a loop.
fn columns(apps: usize, links: &[(usize, usize)]) -> Vec<usize> {
    let mut leaving = vec![Vec::new(); apps];
    let mut waits = vec![0_usize; apps];
    for &(from, to) in links {
        leaving[from].push(to);
        waits[to] += 1;
    }
    let mut column = vec![0; apps];
    let mut ready: Vec<usize> = (0..apps).filter(|&app| waits[app] == 0).collect();
    while let Some(app) = ready.pop() {
        for &to in &leaving[app] {
            column[to] = column[to].max(column[app] + 1);
            waits[to] -= 1;
            if waits[to] == 0 {
                ready.push(to);
            }
        }
    }
    column
}

impl Ranks {
    /// Pairs of places in neighbouring columns that are linked.
    pub(super) fn steps(&self) -> Vec<(usize, usize)> {
        let forward = self.paths.iter().zip(&self.closes_loop).filter(|(_, closes)| !**closes);
        forward.flat_map(|(path, _)| path.windows(2).map(|pair| (pair[0], pair[1]))).collect()
    }

    /// Moves the places within their columns so that few links cross.
    fn order(&mut self) {
        let steps = self.steps();
        let mut before = vec![Vec::new(); self.places.len()];
        let mut behind = vec![Vec::new(); self.places.len()];
        for &(from, to) in &steps {
            behind[from].push(to);
            before[to].push(from);
        }
        let counted = steps.len() <= COUNTED_MAX;
        let mut best = (self.crossings(&steps, counted), self.columns.clone());
        for sweep in 0..SWEEPS {
            let count = self.columns.len();
            if sweep % 2 == 0 {
                (1..count).for_each(|column| self.sort(column, &before));
            } else {
                (0..count.saturating_sub(1)).rev().for_each(|column| self.sort(column, &behind));
            }
            let crossings = self.crossings(&steps, counted);
            if crossings < best.0 || !counted {
                best = (crossings, self.columns.clone());
            }
        }
        self.columns = best.1;
    }

    /// Sorts a column by the mean position of what its places are linked to.
    fn sort(&mut self, column: usize, linked: &[Vec<usize>]) {
        let position = self.positions();
        let key = |&place: &usize| {
            let to = &linked[place];
            let sum: usize = to.iter().map(|&other| position[other]).sum();
            if to.is_empty() { position[place] as f64 } else { sum as f64 / to.len() as f64 }
        };
        self.columns[column].sort_by(|a, b| key(a).total_cmp(&key(b)));
    }

    fn positions(&self) -> Vec<usize> {
        let mut positions = vec![0; self.places.len()];
        for column in &self.columns {
            column.iter().enumerate().for_each(|(position, &place)| positions[place] = position);
        }
        positions
    }

    /// How many pairs of links cross.
    fn crossings(&self, steps: &[(usize, usize)], counted: bool) -> usize {
        if !counted {
            return 0;
        }
        let position = self.positions();
        let mut column = vec![0; self.places.len()];
        for (number, places) in self.columns.iter().enumerate() {
            places.iter().for_each(|&place| column[place] = number);
        }
        let crosses = |a: &(usize, usize), b: &(usize, usize)| {
            column[a.0] == column[b.0]
                && (position[a.0] < position[b.0]) != (position[a.1] < position[b.1])
                && position[a.0] != position[b.0]
                && position[a.1] != position[b.1]
        };
        let pairs = steps.iter().enumerate();
        pairs.map(|(index, a)| steps[..index].iter().filter(|b| crosses(a, b)).count()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column_of(ranks: &Ranks, app: usize) -> usize {
        ranks.columns.iter().position(|column| column.contains(&app)).expect("a column")
    }

    #[test]
    fn receivers_stand_to_the_right() {
        let ranks = rank(4, &[(0, 1), (1, 2), (0, 2), (2, 3)]);
        assert_eq!([0, 1, 2, 3].map(|app| column_of(&ranks, app)), [0, 1, 2, 3]);
        // The link past app 1 has a place beside it.
        assert_eq!((ranks.paths[2].len(), ranks.columns[1].len()), (3, 2));
    }

    #[test]
    fn loops_are_found() {
        let ranks = rank(3, &[(0, 1), (1, 2), (2, 1), (1, 1)]);
        assert_eq!(ranks.closes_loop, [false, false, true, true]);
        assert_eq!(rank(2, &[(0, 1), (1, 0)]).closes_loop, [false, true]);
        assert!(rank(0, &[]).columns.is_empty());
    }

    #[test]
    fn links_are_untangled() {
        // Two lines that cross if apps keep their order.
        let ranks = rank(4, &[(0, 3), (1, 2)]);
        assert_eq!(ranks.crossings(&ranks.steps(), true), 0);
    }

    #[test]
    fn many_apps_take_little_time() {
        let chain: Vec<(usize, usize)> = (0..4095).map(|app| (app, app + 1)).collect();
        let fan: Vec<(usize, usize)> = (0..4095).map(|app| (0, app + 1)).collect();
        let both: Vec<(usize, usize)> = chain.iter().chain(&fan).copied().collect();
        for links in [chain, fan, both] {
            assert_eq!(rank(4096, &links).paths.len(), links.len());
        }
    }
}
