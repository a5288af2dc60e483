//! The C library's heap, which keeps freed memory for later unless it is told not to.
#![allow(unsafe_code, reason = "the function that tells it is C's")]

/// Gives back to the system what is free in the heap, so that what is read as resident is what is held. Only glibc has it; elsewhere nothing
/// happens.
pub fn trim_heap() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // SAFETY: glibc's `malloc_trim` takes its own locks and invalidates nothing that is allocated.
        unsafe { libc::malloc_trim(0) };
    }
}
