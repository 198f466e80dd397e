//! Expands a packed row over all columns, and compresses it again.

use super::packed::ColumnWord;
use super::shrinkage::Shrinkage;

/// Writes the shrunk values of a row to its columns, and 0 to all others. There are as many numbers as the words have
/// bits, and [`PADDING`](super::difference::PADDING) more.
pub(super) fn unpack(words: &[ColumnWord], numbers: &[f32], due: Shrinkage, columns: &mut [f32]) {
    assert!(columns.len() >= 64 * words.len(), "room for every column");
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("popcnt") {
        // SAFETY: the processor has these instructions; numbers and columns have the required lengths.
        return unsafe { unpack_avx512(words, numbers, due, columns) };
    }
    unpack_plain(words, numbers, due, columns);
}

/// Shrinks all columns and packs the remaining values: the words of the row, and its numbers in `to`, which has room
/// for all columns and [`PADDING`](super::difference::PADDING) more. Returns the count of numbers.
pub(super) fn pack(columns: &mut [f32], next: Shrinkage, words: &mut [ColumnWord], to: &mut [f32]) -> usize {
    assert!(columns.len() >= 64 * words.len() && to.len() >= 64 * words.len() + 16, "room for every column");
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("popcnt") {
        // SAFETY: the processor has these instructions; there is room for all columns.
        return unsafe { pack_avx512(columns, next, words, to) };
    }
    pack_plain(columns, next, words, to)
}

fn unpack_plain(words: &[ColumnWord], numbers: &[f32], due: Shrinkage, columns: &mut [f32]) {
    let mut numbers = numbers.iter();
    for (word, columns) in words.iter().zip(columns.as_chunks_mut::<64>().0) {
        columns.fill(0.0);
        let mut left = word.bits;
        while left != 0 {
            let number = numbers.next().map_or(0.0, |&number| due.value(number));
            columns[left.trailing_zeros() as usize] = number;
            left &= left - 1;
        }
    }
}

fn pack_plain(columns: &mut [f32], next: Shrinkage, words: &mut [ColumnWord], to: &mut [f32]) -> usize {
    let mut n = 0;
    for (word, columns) in words.iter_mut().zip(columns.as_chunks_mut::<64>().0) {
        *word = ColumnWord { bits: 0, rank: n as u32 };
        for (bit, column) in columns.iter_mut().enumerate() {
            let number = next.value(*column);
            *column = number;
            to[n] = number;
            n += usize::from(number != 0.0);
            word.bits |= u64::from(number != 0.0) << bit;
        }
    }
    n
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use std::arch::x86_64::*;

    /// Soft-thresholds numbers.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(in super::super) fn shrink(number: __m512, by: __m512) -> __m512 {
        let signs = _mm512_and_si512(_mm512_castps_si512(number), _mm512_set1_epi32(i32::MIN));
        let left = _mm512_max_ps(_mm512_sub_ps(_mm512_abs_ps(number), by), _mm512_setzero_ps());
        _mm512_castsi512_ps(_mm512_or_si512(_mm512_castps_si512(left), signs))
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) use avx512::shrink;

/// # Safety
/// There must be as many numbers as the words have bits, and sixteen more, and 64 columns for every word.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,popcnt")]
unsafe fn unpack_avx512(words: &[ColumnWord], numbers: &[f32], due: Shrinkage, columns: &mut [f32]) {
    use std::arch::x86_64::*;
    let due = _mm512_set1_ps(due.0);
    let (mut from, mut to) = (numbers.as_ptr(), columns.as_mut_ptr());
    for word in words {
        for quarter in 0..4 {
            let bits = (word.bits >> (16 * quarter)) as u16;
            // SAFETY: reads the next numbers, or padding, and writes the next sixteen columns.
            unsafe {
                let number = shrink(_mm512_maskz_expand_ps(bits, _mm512_loadu_ps(from)), due);
                _mm512_storeu_ps(to, number);
                from = from.add(bits.count_ones() as usize);
                to = to.add(16);
            }
        }
    }
}

/// # Safety
/// There must be 64 columns for every word, and room for as many numbers and sixteen more.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,popcnt")]
unsafe fn pack_avx512(
    columns: &mut [f32],
    next: Shrinkage,
    words: &mut [ColumnWord],
    to: &mut [f32],
) -> usize {
    use std::arch::x86_64::*;
    let (next, zero) = (_mm512_set1_ps(next.0), _mm512_setzero_ps());
    let (mut from, to, mut n) = (columns.as_mut_ptr(), to.as_mut_ptr(), 0);
    for word in words {
        *word = ColumnWord { bits: 0, rank: n as u32 };
        for quarter in 0..4 {
            // SAFETY: reads the next sixteen columns; there is room for the numbers so far and sixteen more.
            unsafe {
                let number = shrink(_mm512_loadu_ps(from), next);
                _mm512_storeu_ps(from, number);
                from = from.add(16);
                let stays = _mm512_cmp_ps_mask::<_CMP_NEQ_OQ>(number, zero);
                _mm512_storeu_ps(to.add(n), _mm512_maskz_compress_ps(stays, number));
                n += stays.count_ones() as usize;
                word.bits |= u64::from(stays) << (16 * quarter);
            }
        }
    }
    n
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vectors_do_what_the_plain_loops_do() {
        let value = |column: u32| if column * column % 7 < 3 { (column as f32 * 0.37).sin() } else { 0.0 };
        let columns: Vec<f32> = (0..320).map(value).collect();
        let (mut shrunk, mut plain_shrunk) = (columns.clone(), columns.clone());
        let (mut words, mut plain_words) = (vec![ColumnWord::default(); 5], vec![ColumnWord::default(); 5]);
        let (mut numbers, mut plain_numbers) = (vec![0.0; 336], vec![0.0; 336]);
        let n = pack(&mut shrunk, Shrinkage(0.1), &mut words, &mut numbers);
        assert_eq!(pack_plain(&mut plain_shrunk, Shrinkage(0.1), &mut plain_words, &mut plain_numbers), n);
        assert!(n > 50 && n < 300, "{n}");
        assert_eq!(numbers[..n], plain_numbers[..n]);
        assert_eq!(shrunk, plain_shrunk);
        assert!(shrunk.iter().zip(&columns).all(|(&found, &x)| found == Shrinkage(0.1).value(x)));
        let bits =
            |words: &[ColumnWord]| -> Vec<(u64, u32)> { words.iter().map(|w| (w.bits, w.rank)).collect() };
        assert_eq!(bits(&words), bits(&plain_words));
        let (mut again, mut plain_again) = (vec![9.0; 320], vec![9.0; 320]);
        numbers[n..].fill(0.0);
        unpack(&words, &numbers, Shrinkage(0.2), &mut again);
        unpack_plain(&words, &numbers, Shrinkage(0.2), &mut plain_again);
        assert_eq!(again, plain_again);
        let expected = columns.iter().map(|&x| Shrinkage(0.2).value(Shrinkage(0.1).value(x)));
        assert!(again.iter().zip(expected).all(|(&found, expected)| found == expected));
    }
}
