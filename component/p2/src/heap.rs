//! The heap: a piece of the initial memory, and what the host gives when that is used up.
//!
//! An ordinary call finds all it needs in that piece. So its memory does not grow, which
//! costs a host dearly: a pooling one changes the protection of pages both when a memory
//! grows and when the next instance is to find it small again.

use core::arch::wasm32::memory_grow;
use std::alloc::Layout;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use talc::base::Talc;
use talc::base::binning::Binning;
use talc::cell::TalcSyncCell;
use talc::source::Source;
use talc::wasm::WasmBinning;

/// Untouched, it costs nothing.
const FIRST_BYTES: usize = 256 * 1024;

const PAGE_BYTES: usize = 65_536;

static mut FIRST: MaybeUninit<[u8; FIRST_BYTES]> = MaybeUninit::uninit();

#[global_allocator]
static HEAP: TalcSyncCell<Memory, WasmBinning> = TalcSyncCell::new_wasm(Memory {
    is_begun: false,
    end: None,
});

/// Where the heap gets its memory.
#[derive(Debug)]
struct Memory {
    is_begun: bool,
    /// Where that ends which the host gave last, so that it can be extended.
    end: Option<NonNull<u8>>,
}

// SAFETY: nothing in it allocates; nobody else uses `FIRST`, or memory that was grown.
unsafe impl Source for Memory {
    fn acquire<B: Binning>(heap: &mut Talc<Self, B>, needed: Layout) -> Result<(), ()> {
        if !heap.source.is_begun {
            heap.source.is_begun = true;
            let first = (&raw mut FIRST).cast();
            let claimed = unsafe { heap.claim(first, FIRST_BYTES) };
            return claimed.map(drop).ok_or(());
        }
        // Room for what the heap itself notes about it, and for its alignment.
        let bytes = needed.size().checked_add(needed.align()).ok_or(())?;
        let pages = bytes / PAGE_BYTES + 2;
        let begin = match memory_grow::<0>(pages) {
            usize::MAX => return Err(()),
            pages_before => (pages_before * PAGE_BYTES) as *mut u8,
        };
        let bytes = pages * PAGE_BYTES;
        let end = match heap.source.end.take() {
            Some(end) if end.as_ptr() == begin => unsafe {
                Some(heap.extend(end, (begin as usize).saturating_add(bytes) as *mut u8))
            },
            _ => unsafe { heap.claim(begin, bytes) },
        };
        heap.source.end = end;
        end.map(drop).ok_or(())
    }
}
