//! Plain loops, compiled for the vector instructions of the processor at run time.

/// Defines a function in three versions, for AVX-512, for AVX2 and for any processor, and calls the best one that this
/// processor can run. The body is plain Rust; the compiler vectorises it.
macro_rules! vectorised {
    ($(#[$attribute:meta])* $visibility:vis fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)? $body:block) => {
        $(#[$attribute])*
        $visibility fn $name($($argument: $type),*) $(-> $result)? {
            #[inline(always)]
            fn plain($($argument: $type),*) $(-> $result)? $body
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,popcnt,bmi1,bmi2")]
                fn avx512($($argument: $type),*) $(-> $result)? {
                    plain($($argument),*)
                }
                #[target_feature(enable = "avx2,popcnt,bmi1,bmi2")]
                fn avx2($($argument: $type),*) $(-> $result)? {
                    plain($($argument),*)
                }
                let counts = is_x86_feature_detected!("popcnt")
                    && is_x86_feature_detected!("bmi1")
                    && is_x86_feature_detected!("bmi2");
                if counts && is_x86_feature_detected!("avx512f") {
                    // SAFETY: the processor has these instructions.
                    return unsafe { avx512($($argument),*) };
                }
                if counts && is_x86_feature_detected!("avx2") {
                    // SAFETY: the processor has these instructions.
                    return unsafe { avx2($($argument),*) };
                }
            }
            plain($($argument),*)
        }
    };
}

pub(crate) use vectorised;
