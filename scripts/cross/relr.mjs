// Lets an older musl load a newer library. Debian's musl 1.2.3 doesn't know packed relocations (DT_RELR), which the libraries
// beside PyPI's Node.js for musl have: their pointers would stay unrelocated, and the first call crash. Here they are
// unpacked into an ordinary table (DT_RELA) at the end of the file.
import { readFileSync, writeFileSync } from "node:fs";

const PT_LOAD = 1;
const PT_DYNAMIC = 2;
const PT_NOTE = 4;
const DT_RELA = 7n;
const DT_RELASZ = 8n;
const DT_DEBUG = 21n;
const DT_RELRSZ = 35n;
const DT_RELR = 36n;
const DT_RELRENT = 37n;
/** `R_*_RELATIVE`, by the machine of the file. */
const RELATIVE = { 62: 8n, 183: 1027n };
const PAGE = 0x10000;

/** Returns the addresses that packed relocations name: an even word is an address, an odd one a map of the 63 words that follow. */
function addressesOf(words) {
  const found = [];
  let next = 0n;
  for (const word of words) {
    if ((word & 1n) === 0n) {
      found.push(word);
      next = word + 8n;
      continue;
    }
    for (let bit = 0n; bit < 63n; bit += 1n) if ((word >> (bit + 1n)) & 1n) found.push(next + bit * 8n);
    next += 63n * 8n;
  }
  return found;
}

/** Unpacks the packed relocations of a 64-bit library. Does nothing if it has none. */
export function unpackRelocations(path) {
  const file = readFileSync(path);
  const headers = Array.from({ length: file.readUInt16LE(56) }, (_, n) => {
    const at = Number(file.readBigUInt64LE(32)) + n * file.readUInt16LE(54);
    const [offset, address, , size, memory] = [8, 16, 24, 32, 40].map((field) =>
      Number(file.readBigUInt64LE(at + field)),
    );
    return { at, type: file.readUInt32LE(at), offset, address, size, memory };
  });
  const loads = headers.filter(({ type }) => type === PT_LOAD);
  const offsetOf = (address) => {
    const load = loads.find((each) => address >= each.address && address < each.address + each.size);
    return address - load.address + load.offset;
  };
  const dynamic = headers.find(({ type }) => type === PT_DYNAMIC);
  const entries = new Map();
  for (let at = dynamic.offset; at < dynamic.offset + dynamic.size; at += 16) {
    const tag = file.readBigUInt64LE(at);
    if (!entries.has(tag)) entries.set(tag, at);
  }
  if (!entries.has(DT_RELR)) return;
  const value = (tag) => Number(file.readBigUInt64LE(entries.get(tag) + 8));
  const table = (tag, size) => file.subarray(offsetOf(value(tag)), offsetOf(value(tag)) + value(size));
  const packed = table(DT_RELR, DT_RELRSZ);
  const addresses = addressesOf(Array.from({ length: packed.length / 8 }, (_, n) => packed.readBigUInt64LE(n * 8)));
  const added = Buffer.alloc(addresses.length * 24);
  for (const [n, address] of addresses.entries()) {
    added.writeBigUInt64LE(address, n * 24);
    added.writeBigUInt64LE(RELATIVE[file.readUInt16LE(18)], n * 24 + 8);
    // The packed form has the addend in its place.
    file.copy(added, n * 24 + 16, offsetOf(Number(address)), offsetOf(Number(address)) + 8);
  }
  const relocations = Buffer.concat([table(DT_RELA, DT_RELASZ), added]);

  // The new table takes the header of a note, which nothing reads at run time.
  const upTo = (number) => Math.ceil(number / PAGE) * PAGE;
  const offset = upTo(file.length);
  const address = upTo(Math.max(...loads.map((load) => load.address + load.memory)));
  const { at } = headers.findLast(({ type }) => type === PT_NOTE);
  const READABLE = 4;
  file.writeUInt32LE(PT_LOAD, at);
  file.writeUInt32LE(READABLE, at + 4);
  const fields = [offset, address, address, relocations.length, relocations.length, PAGE];
  for (const [n, field] of fields.entries()) file.writeBigUInt64LE(BigInt(field), at + 8 + n * 8);
  file.writeBigUInt64LE(BigInt(address), entries.get(DT_RELA) + 8);
  file.writeBigUInt64LE(BigInt(relocations.length), entries.get(DT_RELASZ) + 8);
  for (const tag of [DT_RELR, DT_RELRSZ, DT_RELRENT]) file.writeBigUInt64LE(DT_DEBUG, entries.get(tag));
  writeFileSync(path, Buffer.concat([file, Buffer.alloc(offset - file.length), relocations]));
}
