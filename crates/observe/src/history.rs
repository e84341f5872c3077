//! The latest of something, within a bound of number and of weight.

use std::collections::VecDeque;

/// Keeps the latest items; the oldest go when there are too many, or when all of them together weigh too much.
#[derive(Clone, Debug)]
pub struct History<T> {
    items: VecDeque<(T, usize)>,
    count_max: usize,
    weight: usize,
    weight_max: usize,
}

impl<T> History<T> {
    /// Keeps at most `count_max` items (at least one), which weigh `weight_max` together; the latest is kept whatever it
    /// weighs.
    pub fn new(count_max: usize, weight_max: usize) -> Self {
        History { items: VecDeque::new(), count_max: count_max.max(1), weight: 0, weight_max }
    }

    /// Adds an item. Returns how many of the oldest had to go.
    pub fn push(&mut self, item: T, weight: usize) -> usize {
        self.items.push_back((item, weight));
        self.weight = self.weight.saturating_add(weight);
        let mut gone = 0;
        while self.items.len() > 1 && (self.items.len() > self.count_max || self.weight > self.weight_max) {
            let (_, weight) = self.items.pop_front().expect("there is more than one");
            self.weight = self.weight.saturating_sub(weight);
            gone += 1;
        }
        gone
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The item at an index; 0 is the oldest.
    pub fn get(&self, index: usize) -> Option<&T> {
        self.items.get(index).map(|(item, _)| item)
    }

    /// From the oldest to the latest.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> + ExactSizeIterator {
        self.items.iter().map(|(item, _)| item)
    }
}

#[cfg(test)]
mod tests {
    use super::History;

    #[test]
    fn the_oldest_go_first() {
        let mut history = History::new(3, 100);
        assert_eq!((1..=5).map(|item| history.push(item, 1)).collect::<Vec<_>>(), [0, 0, 0, 1, 1]);
        assert_eq!(history.iter().copied().collect::<Vec<_>>(), [3, 4, 5]);
        assert_eq!((history.get(0), history.get(3), history.len()), (Some(&3), None, 3));
    }

    #[test]
    fn heavy_items_leave_room_for_fewer() {
        let mut history = History::new(600, 10);
        (0..10).for_each(|item| _ = history.push(item, 4));
        assert_eq!(history.iter().copied().collect::<Vec<_>>(), [8, 9]);
        assert_eq!(history.push(10, usize::MAX), 2);
        assert_eq!(history.iter().copied().collect::<Vec<_>>(), [10], "the latest stays");
        assert_eq!(history.push(11, 1), 1);
        assert_eq!(history.len(), 1);
    }
}
