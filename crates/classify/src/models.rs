//! Models of what threads share, in every order that loom can think of: `make models`.

use crate::swap::Swap;

/// Two parts that belong together, so that a torn value would be seen.
type Pair = (u64, u64);

#[test]
fn readers_see_whole_values_in_order() {
    loom::model(|| {
        let swap: Swap<Pair> = Swap::new((0, 0));
        let mut reader = swap.reader();
        let writer = {
            let swap = swap.clone();
            loom::thread::spawn(move || {
                swap.publish((1, 1));
                swap.publish((2, 2));
            })
        };
        let mut last = 0;
        for _ in 0..2 {
            let &(a, b) = reader.get();
            assert_eq!(a, b, "a whole value");
            assert!(a >= last && reader.generation() == a, "in order, with its generation");
            last = a;
        }
        writer.join().expect("no panic");
        assert_eq!(*reader.get(), (2, 2), "nobody holds the lock any more");
    });
}

#[test]
fn two_writers_leave_the_last_value() {
    loom::model(|| {
        let swap: Swap<u64> = Swap::new(0);
        let other = {
            let swap = swap.clone();
            loom::thread::spawn(move || swap.publish(10))
        };
        let mine = swap.publish(20);
        let theirs = other.join().expect("no panic");
        let mut reader = swap.reader();
        assert_eq!(*reader.get(), if mine > theirs { 20 } else { 10 });
        assert_eq!(reader.generation(), 2);
    });
}
