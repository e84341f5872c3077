//! A token bucket: it fills at a rate, holds so much and no more, and gives what it has.
//!
//! Tokens are counted in billionths, so that a rate in tokens a second times a time in nanoseconds is exact: whatever the steps
//! in which time passes, no token is lost or gained.

/// A bucket of tokens. It is full at first.
#[derive(Clone, Debug)]
pub struct Bucket {
    /// Tokens a second.
    rate: u64,
    /// Tokens that it holds at most.
    capacity: u64,
    /// Billionths of tokens in it.
    content: u128,
    /// When it was filled up last.
    filled_ns: u64,
}

/// Billionths of a token.
const TOKEN: u128 = 1_000_000_000;

impl Bucket {
    /// A full bucket.
    pub fn new(rate: u64, capacity: u64, now_ns: u64) -> Self {
        Bucket { rate, capacity, content: u128::from(capacity) * TOKEN, filled_ns: now_ns }
    }

    /// The bucket with another rate and capacity, and what it holds, if it can.
    pub fn changed(&self, rate: u64, capacity: u64) -> Self {
        let content = self.content.min(u128::from(capacity) * TOKEN);
        Bucket { rate, capacity, content, filled_ns: self.filled_ns }
    }

    /// Adds what has come in until now.
    pub fn fill(&mut self, now_ns: u64) {
        let passed_ns = now_ns.saturating_sub(self.filled_ns);
        self.filled_ns = self.filled_ns.max(now_ns);
        let content = self.content + u128::from(self.rate) * u128::from(passed_ns);
        self.content = content.min(u128::from(self.capacity) * TOKEN);
    }

    /// Whether this many tokens are there.
    #[inline]
    pub fn has(&self, tokens: u64) -> bool {
        u128::from(tokens) * TOKEN <= self.content
    }

    /// Takes tokens that are there.
    #[inline]
    pub fn take(&mut self, tokens: u64) {
        self.content = self.content.saturating_sub(u128::from(tokens) * TOKEN);
    }

    /// Whether this many tokens could ever be there.
    pub fn holds(&self, tokens: u64) -> bool {
        tokens <= self.capacity
    }

    /// The time at which this many tokens are there, if none is taken before.
    pub fn ready_ns(&self, tokens: u64) -> u64 {
        let missing = (u128::from(tokens) * TOKEN).saturating_sub(self.content);
        let wait_ns = missing.div_ceil(u128::from(self.rate.max(1)));
        self.filled_ns.saturating_add(u64::try_from(wait_ns).unwrap_or(u64::MAX))
    }

    /// When it is half full, if nothing is taken before.
    pub fn half_full_ns(&self) -> u64 {
        self.ready_ns(self.capacity / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::Bucket;

    #[test]
    fn nothing_is_lost_in_small_steps() {
        let mut bucket = Bucket::new(3, 10, 0);
        bucket.take(10);
        let mut now_ns = 0;
        for _ in 0..1_000_000 {
            now_ns += 1000;
            bucket.fill(now_ns);
        }
        assert!(bucket.has(3) && !bucket.has(4), "three tokens in a second");
    }

    #[test]
    fn it_overflows_and_says_when_it_is_ready() {
        let mut bucket = Bucket::new(1000, 5, 0);
        bucket.fill(u64::MAX);
        assert!(bucket.has(5) && !bucket.has(6) && !bucket.holds(6));
        let mut bucket = Bucket::new(3, 5, 100);
        bucket.take(5);
        assert_eq!(bucket.ready_ns(0), 100);
        assert_eq!(bucket.ready_ns(1), 100 + 333_333_334);
        assert_eq!(bucket.half_full_ns(), 100 + 666_666_667);
        bucket.fill(bucket.ready_ns(1));
        assert!(bucket.has(1));
        bucket.fill(5);
        assert!(bucket.has(1), "time does not go back");
    }

    #[test]
    fn extremes_do_not_overflow() {
        let mut bucket = Bucket::new(u64::MAX, u64::MAX, 0);
        bucket.take(u64::MAX);
        bucket.fill(u64::MAX);
        assert!(bucket.has(u64::MAX));
        assert_eq!(bucket.changed(1, 7).ready_ns(u64::MAX), u64::MAX);
    }
}
