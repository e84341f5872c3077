//! Which app runs on which worker.

use crate::graph::Graph;
use std::collections::BTreeMap;

/// Which app runs on which worker.
pub(super) type Places = BTreeMap<String, usize>;

/// How apps are placed that are not placed by hand; those stay where they were put.
pub(super) enum Placing {
    /// The breathing order is cut into stretches of about equal cost, one a worker, so that few links cross threads. What each app
    /// took, in any unit; those that are missing count as 1.
    ByCost(BTreeMap<String, f64>),
    /// All on the first worker.
    OnFirst,
    /// Where they have been.
    At(Places),
}

impl Placing {
    /// Places apps on `workers` workers. `order` are the names of the apps, in their order of breathing.
    pub(super) fn places(&self, graph: &Graph, order: &[String], workers: usize) -> Places {
        let worker =
            |name: &String| graph.get(name).and_then(|app| app.worker).map(|worker| worker % workers);
        match self {
            Placing::ByCost(costs) => by_cost(order, worker, costs, workers),
            Placing::At(places) => places.clone(),
            Placing::OnFirst => order.iter().map(|name| (name.clone(), worker(name).unwrap_or(0))).collect(),
        }
    }
}

fn by_cost(
    order: &[String],
    by_hand: impl Fn(&String) -> Option<usize>,
    costs: &BTreeMap<String, f64>,
    workers: usize,
) -> Places {
    let cost = |name: &str| cost(name, costs);
    let mut load = vec![0.0; workers];
    let mut places = BTreeMap::new();
    for name in order {
        if let Some(worker) = by_hand(name) {
            load[worker] += cost(name);
            places.insert(name.clone(), worker);
        }
    }
    let free: Vec<&String> = order.iter().filter(|name| by_hand(name).is_none()).collect();
    let limit = bottleneck(&free.iter().map(|name| cost(name)).collect::<Vec<_>>(), &load);
    let mut worker = 0;
    for name in free {
        while worker + 1 < workers && load[worker] + cost(name) > limit * (1.0 + 1e-9) {
            worker += 1;
        }
        load[worker] += cost(name);
        places.insert(name.clone(), worker);
    }
    places
}

/// The load of the worker with the highest one.
pub(super) fn heaviest(places: &Places, costs: &BTreeMap<String, f64>, workers: usize) -> f64 {
    let mut load = vec![0.0; workers];
    places.iter().for_each(|(name, &worker)| load[worker] += cost(name, costs));
    load.into_iter().fold(0.0, f64::max)
}

fn cost(name: &str, costs: &BTreeMap<String, f64>) -> f64 {
    costs.get(name).copied().unwrap_or(1.0).max(1e-9)
}

/// The least limit on the load of a worker under which consecutive stretches of `costs` fit onto workers that carry `load`
/// already, by bisection.
fn bottleneck(costs: &[f64], load: &[f64]) -> f64 {
    let fits = |limit: f64| {
        let mut worker = 0;
        let mut sum = load[0];
        costs.iter().all(|&cost| {
            while sum + cost > limit {
                worker += 1;
                match load.get(worker) {
                    Some(&load) => sum = load,
                    None => return false,
                }
            }
            sum += cost;
            true
        })
    };
    let (mut low, mut high) = (0.0, costs.iter().chain(load).sum::<f64>());
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if fits(middle) { high = middle } else { low = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::bottleneck;

    #[test]
    fn stretches_are_as_even_as_can_be() {
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-6, "{a} {b}");
        close(bottleneck(&[1.0, 1.0, 1.0, 1.0], &[0.0, 0.0]), 2.0);
        close(bottleneck(&[3.0, 1.0, 1.0], &[0.0, 0.0]), 3.0);
        close(bottleneck(&[1.0, 1.0], &[0.0, 5.0]), 2.0);
        close(bottleneck(&[], &[0.0]), 0.0);
    }
}
