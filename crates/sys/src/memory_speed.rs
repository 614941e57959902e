//! Loops over memory that are as fast as the machine allows. They are in this crate since it is
//! built for speed, and since storing past the caches is not a safe call.

/// Returns the sum of all words, each of which is read once, in order.
#[inline(never)]
pub fn sum(words: &[u64]) -> u64 {
    words.iter().fold(0, |sum, word| sum.wrapping_add(*word))
}

/// Writes all words past the caches, which are neither filled nor read for it, by x86-64's
/// streaming stores. On other machines, and where the words do not begin at a multiple of 16 bytes,
/// it writes as any program does. Returns whether it wrote past the caches.
#[inline(never)]
#[cfg_attr(
    target_arch = "x86_64",
    expect(
        clippy::cast_ptr_alignment,
        reason = "it is looked at before it is used"
    )
)]
pub fn store_past_caches(words: &mut [u64], word: u64) -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{__m128i, _mm_set1_epi64x, _mm_sfence, _mm_stream_si128};
        let two = words.as_mut_ptr().cast::<__m128i>();
        if two.is_aligned() {
            for place in 0..words.len() / 2 {
                // SAFETY: `place` is below half the length of the words, two to a vector, and the
                // vectors are aligned; SSE2 is part of x86-64. The fence orders these stores before
                // all that follows.
                unsafe { _mm_stream_si128(two.add(place), _mm_set1_epi64x(word.cast_signed())) };
            }
            // SAFETY: every x86-64 processor has the instruction.
            unsafe { _mm_sfence() };
            return true;
        }
    }
    words.fill(word);
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_past_the_caches_is_there_and_is_summed() {
        let mut words = vec![0; 4096];
        store_past_caches(&mut words, 3);
        assert_eq!(sum(&words), 3 * 4096);
    }
}
