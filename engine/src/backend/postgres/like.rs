//! `LIKE` patterns.

/// `LIKE` patterns for text that contains these texts. The value of a key comes first: it is rarer than the key.
pub(super) fn containing(texts: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let pattern = |text: &Vec<u8>| {
        let mut pattern = vec![b'%'];
        for byte in text {
            if b"%_\\".contains(byte) {
                pattern.push(b'\\');
            }
            pattern.push(*byte);
        }
        pattern.push(b'%');
        pattern
    };
    texts.iter().rev().map(pattern).collect()
}
