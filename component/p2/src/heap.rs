//! The heap: a part of the initial memory, and the memory that the host adds when that is used up.
//!
//! An ordinary call fits in that part. Its memory does not grow, which is expensive for a host: a
//! pooling one changes the protection of pages both when a memory grows and when the next instance
//! needs it small again.

use core::arch::wasm32::memory_grow;
use std::alloc::Layout;
use std::mem::MaybeUninit;
use std::ptr::NonNull;
use talc::base::Talc;
use talc::base::binning::Binning;
use talc::cell::TalcSyncCell;
use talc::source::Source;
use talc::wasm::WasmBinning;

/// The part costs nothing while it is untouched.
const FIRST_BYTES: usize = 256 * 1024;

const PAGE_BYTES: usize = 65_536;

static mut FIRST: MaybeUninit<[u8; FIRST_BYTES]> = MaybeUninit::uninit();

#[global_allocator]
static HEAP: TalcSyncCell<Memory, WasmBinning> = TalcSyncCell::new_wasm(Memory {
    is_begun: false,
    end: None,
});

/// The source of the heap's memory.
#[derive(Debug)]
struct Memory {
    is_begun: bool,
    /// The end of the memory that the host added last, which can be extended.
    end: Option<NonNull<u8>>,
}

// SAFETY: nothing in it allocates, and no other code uses `FIRST` or grown memory.
unsafe impl Source for Memory {
    fn acquire<B: Binning>(heap: &mut Talc<Self, B>, needed: Layout) -> Result<(), ()> {
        if !heap.source.is_begun {
            heap.source.is_begun = true;
            let first = (&raw mut FIRST).cast();
            let claimed = unsafe { heap.claim(first, FIRST_BYTES) };
            return claimed.map(drop).ok_or(());
        }
        // The heap needs room for its own records and for alignment.
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
