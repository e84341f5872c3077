//! Values as machine code and interpreted, for packets cut at every length.

use super::{LeafTable, LeafValues};
use crate::decision::{Backend, Options};
use crate::ir::{BinOp, Pool, Size, Value, ValueId};

/// Values that need every kind of guard, more of them than there are registers.
fn values(pool: &mut Pool) -> Vec<ValueId> {
    let (first, second) = (pool.at(0, Size::B1), pool.at(1, Size::B1));
    let indirect = pool.load(first, 2, Size::B2);
    let quotient = pool.op(BinOp::Div, indirect, second);
    let remainder = pool.op(BinOp::Mod, quotient, first);
    let (mark, len, k) = (pool.input(3), pool.value(Value::Len), pool.constant(0x1234_5678));
    let shifted = pool.op(BinOp::Shl, mark, second);
    let mut values = vec![first, indirect, quotient, remainder, mark, len, k, shifted, second];
    for i in 0..20 {
        let (byte, previous) = (pool.at(i, Size::B1), values[values.len() - 1]);
        values.push(pool.op([BinOp::Add, BinOp::Xor, BinOp::Mul][i as usize % 3], previous, byte));
    }
    values
}

fn compiled(backend: Backend) -> (LeafValues, usize, u32) {
    let mut pool = Pool::default();
    let values = values(&mut pool);
    let mut table = LeafTable::default();
    table.add(9, &[]);
    let leaf = table.add(7, &values);
    let options = Options { backend, ..Options::default() };
    (table.compile(&pool, &options).unwrap(), values.len(), leaf)
}

#[test]
fn machine_code_agrees_with_the_interpreter() {
    let (native, count, leaf) = compiled(Backend::Auto);
    let (interpreted, ..) = compiled(Backend::Interpreter);
    assert_eq!([native.count(leaf), interpreted.count(leaf)], [count; 2]);
    let (mut yes, mut no) = (0, 0);
    for (first, second) in [(0, 0), (0, 3), (3, 0), (4, 1), (7, 2), (15, 9), (200, 1)] {
        let packet: Vec<u8> = [first, second].into_iter().chain(3..40).collect();
        for len in 0..=packet.len() {
            let captured = packet[..len].to_vec();
            let [mut to, mut expected] = [(); 2].map(|()| vec![0xdead_beef; count + 1]);
            let inputs = [1, 2, 3, 0x8000_0001];
            let is = native.values(leaf, &captured, 99, &inputs, &mut to);
            assert_eq!(is, interpreted.values(leaf, &captured, 99, &inputs, &mut expected), "{captured:?}");
            if is {
                assert_eq!(to, expected, "{captured:?}");
            }
            assert_eq!(to[count], 0xdead_beef, "no more than there are");
            *(if is { &mut yes } else { &mut no }) += 1;
        }
    }
    assert!(yes > 20 && no > 20, "{yes}, {no}");
}

#[test]
fn a_leaf_that_is_not_in_the_table_has_no_values() {
    let (values, ..) = compiled(Backend::Auto);
    assert_eq!((values.answer(0), values.count(0), values.answer(3)), (None, 0, None));
    assert_eq!(values.answer(1), Some(9));
    assert!(values.values(0, &[], 0, &[], &mut []));
    assert!(values.values(1, &[], 0, &[], &mut []));
}

#[test]
fn values_that_can_never_be_computed() {
    let (mut pool, mut table) = (Pool::default(), LeafTable::default());
    let (zero, len) = (pool.constant(0), pool.value(Value::Len));
    let never = pool.op(BinOp::Div, len, zero);
    let beyond = pool.at(u32::MAX, Size::B4);
    let leaves = [table.add(1, &[never]), table.add(2, &[beyond])];
    for backend in [Backend::Auto, Backend::Interpreter] {
        let values = table.compile(&pool, &Options { backend, ..Options::default() }).unwrap();
        for leaf in leaves {
            assert!(!values.values(leaf, &[0; 100], 100, &[], &mut [0]));
        }
    }
}

#[test]
#[should_panic(expected = "all inputs")]
fn too_few_inputs() {
    let (values, count, leaf) = compiled(Backend::Auto);
    values.values(leaf, &[1; 60], 60, &[1, 2, 3], &mut vec![0; count]);
}

/// A thousand values of a pool of a thousand more take no time that grows with the pool.
#[test]
fn many_leaves() {
    let (mut pool, mut table) = (Pool::default(), LeafTable::default());
    let leaves: Vec<u32> = (0..2000)
        .map(|i| {
            let byte = pool.at(i, Size::B1);
            table.add(i, &[byte])
        })
        .collect();
    let values = table.compile(&pool, &Options::default()).unwrap();
    let packet: Vec<u8> = (0..2000).map(|i| i as u8).collect();
    for &leaf in &leaves {
        let mut to = [0];
        assert!(values.values(leaf, &packet, 0, &[], &mut to));
        assert_eq!(to[0], (leaf - 1) % 256);
    }
}
