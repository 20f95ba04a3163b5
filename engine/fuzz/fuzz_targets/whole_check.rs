//! Checks a whole store.

use forkpoint_engine::backend::Backend;
use forkpoint_engine::check::CheckCursor;
use forkpoint_engine::query::{Answer, Query};

/// Checks a backend to the end, in small pages. The check may fail, but it must end.
pub fn whole_check(backend: &mut impl Backend) {
    let mut cursor = CheckCursor::default();
    for _ in 0..1000 {
        match backend.answer(&Query::Check { cursor: cursor.clone(), limit: 5 }) {
            Ok(Answer::Checked(page)) => match page.next {
                Some(next) => cursor = next,
                None => return,
            },
            Ok(_) => unreachable!(),
            Err(_) => return,
        }
    }
    panic!("the check does not end");
}
