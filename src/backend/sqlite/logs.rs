use crate::backend::logs::*;
use crate::error::Result;
use crate::record::*;
use rusqlite::Connection;
pub(super) const TABLES: &str = "CREATE TABLE record (num INTEGER PRIMARY KEY);";
pub(super) const RECORDS: &str = "SELECT num FROM record NOT INDEXED";
pub(super) const INDEXES: [(&str, &str, &str); 0] = [];
pub(super) struct SqliteLogs<'a>(&'a Connection);
impl<'a> SqliteLogs<'a> {
    pub(super) fn new(connection: &'a Connection) -> Self { Self(connection) }
}
pub(super) fn encode_marks(_: &[Mark]) -> Option<Vec<u8>> { None }
pub(super) fn decode_marks(_: Option<&[u8]>, _: &str) -> Result<Vec<Mark>> { Ok(vec![]) }
pub(super) fn each_record_after(_: &Connection, _: i64, _: impl FnMut(i64, Space, i64)) -> Result<()> { Ok(()) }
pub(super) fn check_marks(_: &Connection, _: Seq, _: Option<&[u8]>, _: &str) -> Result<()> { Ok(()) }
pub(super) fn check_record(_: &Connection, _: i64) -> Result<()> { Ok(()) }
impl LogRows for SqliteLogs<'_> {
    fn head(&self, _: i64, _: &str) -> Result<Option<End>> { Ok(None) }
    fn heads(&self, _: i64) -> Result<Vec<(String, End)>> { Ok(vec![]) }
    fn set_head(&mut self, _: i64, _: &str, _: End) -> Result<()> { todo!() }
    fn remove_head(&mut self, _: i64, _: &str) -> Result<()> { todo!() }
    fn branch(&self, _: BranchId) -> Result<Option<Branch>> { todo!() }
    fn create_branch(&mut self, _: Branch) -> Result<BranchId> { todo!() }
    fn remove_branch(&mut self, _: BranchId) -> Result<()> { todo!() }
    fn needed(&self, _: BranchId) -> Result<Option<u64>> { todo!() }
    fn tip(&self, _: BranchId) -> Result<Option<u64>> { todo!() }
    fn push(&mut self, _: BranchId, _: u64, _: &[&Record]) -> Result<()> { todo!() }
    fn cut(&mut self, _: BranchId, _: u64) -> Result<()> { todo!() }
    fn read(&self, _: BranchId, _: u64, _: u64) -> Result<Vec<Record>> { todo!() }
    fn has_key(&self, _: BranchId, _: u64, _: &str) -> Result<bool> { todo!() }
    fn hold(&mut self, _: Seq, _: End) -> Result<()> { todo!() }
    fn let_go(&mut self, _: Seq, _: End) -> Result<()> { todo!() }
}
