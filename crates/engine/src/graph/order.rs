//! In which order apps breathe.

/// The order in which apps push: senders before receivers, wherever the graph has no loop.
///
/// ```text
/// reverse post-order of a depth-first search that begins at the apps that pull, in the order given,
/// and then at whatever was not reached
/// ```
///
/// A link that closes a loop brings its packets in the next breath. Apps are numbers; `links` are pairs of sender and
/// receiver; what comes first in `links` is searched first, so the order is the same in every run.
pub(crate) fn breathing_order(apps: usize, pulls: &[usize], links: &[(usize, usize)]) -> Vec<usize> {
    let mut receivers = vec![Vec::new(); apps];
    for &(from, to) in links {
        receivers[from].push(to);
    }
    let mut seen = vec![false; apps];
    let mut post_order = Vec::with_capacity(apps);
    // What is searched first ends up last: so the last of the apps that pull comes first here. Of the others, those that
    // nobody sends to are searched after those that somebody does, and so stand before them.
    let mut fed = vec![false; apps];
    links.iter().for_each(|&(_, to)| fed[to] = true);
    for &root in pulls.iter().rev() {
        search(root, &receivers, &mut seen, &mut post_order);
    }
    for root in (0..apps).rev().filter(|&app| !fed[app]) {
        search(root, &receivers, &mut seen, &mut post_order);
    }
    for root in (0..apps).rev() {
        search(root, &receivers, &mut seen, &mut post_order);
    }
    let mut order = post_order;
    order.reverse();
    order
}

fn search(root: usize, receivers: &[Vec<usize>], seen: &mut [bool], post_order: &mut Vec<usize>) {
    if std::mem::replace(&mut seen[root], true) {
        return;
    }
    // An explicit stack: a chain may be longer than the thread's stack.
    let mut stack = vec![(root, 0)];
    while let Some((app, next)) = stack.last_mut() {
        let app = *app;
        let Some(&receiver) = receivers[app].iter().rev().nth(*next) else {
            post_order.push(app);
            stack.pop();
            continue;
        };
        *next += 1;
        if !std::mem::replace(&mut seen[receiver], true) {
            stack.push((receiver, 0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::breathing_order;

    #[track_caller]
    fn check(apps: usize, pulls: &[usize], links: &[(usize, usize)], expected: &[usize]) {
        assert_eq!(breathing_order(apps, pulls, links), expected);
    }

    #[test]
    fn senders_come_before_receivers() {
        check(3, &[0], &[(0, 1), (1, 2)], &[0, 1, 2]);
        check(3, &[2], &[(2, 1), (1, 0)], &[2, 1, 0]);
        // A diamond: its last app waits for both branches.
        check(4, &[0], &[(0, 1), (0, 2), (1, 3), (2, 3)], &[0, 1, 2, 3]);
        // A short cut does not bring the end before the middle.
        check(3, &[0], &[(0, 2), (0, 1), (1, 2)], &[0, 1, 2]);
    }

    #[test]
    fn loops_end() {
        check(2, &[0], &[(0, 1), (1, 0)], &[0, 1]);
        check(1, &[0], &[(0, 0)], &[0]);
        check(3, &[0], &[(0, 1), (1, 2), (2, 1)], &[0, 1, 2]);
    }

    #[test]
    fn apps_that_nothing_reaches_are_there() {
        check(3, &[], &[(2, 1)], &[0, 2, 1]);
        check(0, &[], &[], &[]);
    }

    #[test]
    fn two_sources_meet() {
        check(3, &[0, 1], &[(0, 2), (1, 2)], &[0, 1, 2]);
        check(4, &[0, 1], &[(0, 2), (1, 3), (3, 2)], &[0, 1, 3, 2]);
    }

    #[test]
    fn a_long_chain_does_not_recurse() {
        let links: Vec<(usize, usize)> = (0..100_000).map(|app| (app, app + 1)).collect();
        assert_eq!(breathing_order(100_001, &[0], &links).last(), Some(&100_000));
    }
}
