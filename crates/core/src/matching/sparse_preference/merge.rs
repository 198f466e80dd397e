//! Merges a packed row and a difference into a new packed row.

use super::change::Room;
use super::difference::{Difference, PADDING};
use super::packed::ColumnWord;
use super::shrinkage::Shrinkage;

/// Shrinks a row by `due`, adds `scale` times a difference, shrinks by `next`, and drops entries that become 0.
/// Replaces the words by those of the new row, writes its numbers to `room`, and returns their count. The row has as
/// many numbers as its words have bits, and [`PADDING`] more.
pub(super) fn merge_row(
    words: &mut [ColumnWord],
    numbers: &[f32],
    addition: Addition<'_>,
    room: &mut Room,
) -> usize {
    let most = numbers.len() + addition.difference.columns.len() + PADDING;
    room.numbers.resize(room.numbers.len().max(most), 0.0);
    let added = addition.difference.words();
    added.iter().for_each(|word| room.touched[word.at as usize] = word.bits);
    assert_eq!(words.len(), room.touched.len(), "a word of the difference for every word of the row");
    let n = merge(words, numbers, addition, &room.touched, &mut room.numbers);
    added.iter().for_each(|word| room.touched[word.at as usize] = 0);
    n
}

/// A difference to add to a row, and the shrinkage of the row before and after.
#[derive(Clone, Copy)]
pub(super) struct Addition<'a> {
    pub(super) due: Shrinkage,
    pub(super) scale: f32,
    pub(super) difference: &'a Difference,
    pub(super) next: Shrinkage,
}

fn merge(
    words: &mut [ColumnWord],
    numbers: &[f32],
    addition: Addition<'_>,
    touched: &[u64],
    to: &mut [f32],
) -> usize {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("popcnt")
        && is_x86_feature_detected!("bmi2")
    {
        // SAFETY: the processor has these instructions; there are as many numbers as the words have bits, plus padding,
        // as many values as `touched` has bits, plus padding, and room for all of them and more.
        return unsafe { avx512(words, numbers, addition, touched, to) };
    }
    plain(words, numbers, addition, touched, to)
}

fn plain(
    words: &mut [ColumnWord],
    numbers: &[f32],
    addition: Addition<'_>,
    touched: &[u64],
    to: &mut [f32],
) -> usize {
    let Addition { due, scale, difference, next } = addition;
    let (mut numbers, mut values) = (numbers.iter(), difference.values().iter());
    let mut n_to = 0;
    for (word, &changed) in words.iter_mut().zip(touched) {
        let (old, mut kept) = (word.bits, 0);
        let mut left = old | changed;
        word.rank = n_to as u32;
        while left != 0 {
            let bit = left & left.wrapping_neg();
            left ^= bit;
            let mut number = 0.0;
            if old & bit != 0 {
                number = numbers.next().map_or(0.0, |&number| due.value(number));
            }
            if changed & bit != 0 {
                number += values.next().map_or(0.0, |value| scale * value);
            }
            let number = next.value(number);
            to[n_to] = number;
            n_to += usize::from(number != 0.0);
            kept |= if number != 0.0 { bit } else { 0 };
        }
        word.bits = kept;
    }
    n_to
}

/// Processes sixteen columns of the row or the difference at a time: expands both to them, adds, and compresses the
/// remaining entries.
///
/// # Safety
/// There must be as many numbers as the words have bits and as many values as `touched` has, and [`PADDING`]
/// more of both; as many words of `touched` as of the row; and room for all in `to`, and [`PADDING`] more.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,popcnt,bmi2")]
unsafe fn avx512(
    words: &mut [ColumnWord],
    numbers: &[f32],
    addition: Addition<'_>,
    touched: &[u64],
    to: &mut [f32],
) -> usize {
    use super::unpacked::shrink;
    use std::arch::x86_64::*;
    let Addition { due, scale, difference, next } = addition;
    let (due, next, scale) = (_mm512_set1_ps(due.0), _mm512_set1_ps(next.0), _mm512_set1_ps(scale));
    let zero = _mm512_setzero_ps();
    let (mut from, mut value) = (numbers.as_ptr(), difference.padded().as_ptr());
    let (start, mut to) = (to.as_mut_ptr(), to.as_mut_ptr());
    for (word, &changed) in words.iter_mut().zip(touched) {
        let old = word.bits;
        // SAFETY: both point into the same array.
        word.rank = unsafe { to.offset_from(start) } as u32;
        let (mut left, mut kept) = (old | changed, 0);
        while left != 0 {
            let columns = _pdep_u64(0xffff, left);
            left &= !columns;
            let (in_row, in_difference) = (_pext_u64(old, columns), _pext_u64(changed, columns));
            // SAFETY: reads the next numbers of the row and values of the difference, or padding; there is room for the
            // results.
            unsafe {
                let number = shrink(_mm512_maskz_expand_ps(in_row as u16, _mm512_loadu_ps(from)), due);
                let change = _mm512_maskz_expand_ps(in_difference as u16, _mm512_loadu_ps(value));
                from = from.add(in_row.count_ones() as usize);
                value = value.add(in_difference.count_ones() as usize);
                let new = shrink(_mm512_add_ps(number, _mm512_mul_ps(scale, change)), next);
                let stays = _mm512_cmp_ps_mask::<_CMP_NEQ_OQ>(new, zero);
                _mm512_storeu_ps(to, _mm512_maskz_compress_ps(stays, new));
                to = to.add(stays.count_ones() as usize);
                kept |= _pdep_u64(u64::from(stays), columns);
            }
        }
        word.bits = kept;
    }
    // SAFETY: both point into the same array.
    unsafe { to.offset_from(start) as usize }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vectors_do_what_the_plain_loop_does() {
        let (mut words, mut numbers) = (vec![ColumnWord::default(); 5], Vec::new());
        let (mut columns, mut values) = (Vec::new(), Vec::new());
        for column in 0..300u32 {
            if column * column % 7 < 3 && !(70..120).contains(&column) || (130..180).contains(&column) {
                words[column as usize / 64].bits |= 1 << (column % 64);
                numbers.push((column as f32 * 0.37).sin());
            }
            if column * 5 % 11 < 4 {
                columns.push(column);
                values.push((column as f32 * 0.73).cos() * 0.4);
            }
        }
        numbers.extend([0.0; PADDING]);
        let difference = Difference::new(&columns, &values);
        let (due, next) = (Shrinkage(0.2), Shrinkage(0.1));
        let addition = Addition { due, scale: 0.7, difference: &difference, next };
        let mut touched = vec![0; 5];
        difference.words().iter().for_each(|word| touched[word.at as usize] = word.bits);
        let mut plain_words = words.clone();
        let mut to = vec![0.0; 320 + PADDING];
        let n = plain(&mut plain_words, &numbers, addition, &touched, &mut to);
        assert!(n > 50 && n < 300, "{n}");
        let mut room = Room::new(300);
        assert_eq!(merge_row(&mut words, &numbers, addition, &mut room), n);
        assert_eq!(to[..n], room.numbers[..n]);
        assert!(room.touched.iter().all(|&bits| bits == 0));
        let bits =
            |words: &[ColumnWord]| -> Vec<(u64, u32)> { words.iter().map(|w| (w.bits, w.rank)).collect() };
        assert_eq!(bits(&plain_words), bits(&words));
    }
}
