//! Samples items evenly.

/// Keeps at most `most` items, in their order, spread evenly.
pub(crate) fn keep<T>(all: &mut Vec<T>, most: usize) {
    let of = all.len();
    if of <= most {
        return;
    }
    let mut at: u128 = 0;
    // The number of items to keep among the first `at`.
    let kept = |at: u128| at * most as u128 / of as u128;
    all.retain(|_| {
        at += 1;
        kept(at) > kept(at - 1)
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_spread_over_all() {
        let kept = |of: usize, most| {
            let mut all: Vec<usize> = (1..=of).collect();
            keep(&mut all, most);
            all
        };
        assert_eq!(kept(10, 5), [2, 4, 6, 8, 10]);
        assert_eq!(kept(10, 3), [4, 7, 10]);
        assert_eq!(kept(3, 4), [1, 2, 3]);
        assert_eq!(kept(3, 0), [0; 0]);
        assert_eq!(kept(0, 0), [0; 0]);
        assert_eq!(kept(1_001, 1_000).len(), 1_000);
        assert_eq!(kept(3, usize::MAX), [1, 2, 3]);
    }
}
