// Reads what a library for Linux needs.

const PT_LOAD = 1;
const PT_DYNAMIC = 2;
const DT = { needed: 1n, strings: 5n, verneed: 0x6ffffffen, verneedCount: 0x6fffffffn };

/** Returns the text that ends with a zero byte. */
export function textAt(file, at) {
  return file.toString("latin1", at, file.indexOf(0, at));
}

/** Returns the libraries that a library loads, the versions of symbols that it needs, and the alignment of its pages. */
export function readElf(file) {
  const number = (at) => Number(file.readBigUInt64LE(at));
  const loads = [];
  let dynamic;
  for (let n = 0; n < file.readUInt16LE(56); n += 1) {
    const at = number(32) + n * file.readUInt16LE(54);
    const type = file.readUInt32LE(at);
    const segment = { offset: number(at + 8), address: number(at + 16), size: number(at + 32), align: number(at + 48) };
    if (type === PT_LOAD) loads.push(segment);
    if (type === PT_DYNAMIC) dynamic = segment;
  }
  const offsetOf = (address) => {
    const load = loads.find((each) => address >= each.address && address < each.address + each.size);
    return address - load.address + load.offset;
  };
  const entries = [];
  for (let at = dynamic.offset; at < dynamic.offset + dynamic.size; at += 16)
    entries.push([file.readBigUInt64LE(at), number(at + 8)]);
  const valueOf = (tag) => entries.find(([each]) => each === tag)?.[1];
  const strings = offsetOf(valueOf(DT.strings));
  const needed = entries.filter(([tag]) => tag === DT.needed).map(([, name]) => textAt(file, strings + name));
  const versions = [];
  if (valueOf(DT.verneed) !== undefined) {
    let at = offsetOf(valueOf(DT.verneed));
    for (let n = 0; n < valueOf(DT.verneedCount); n += 1) {
      let version = at + file.readUInt32LE(at + 8);
      for (let m = 0; m < file.readUInt16LE(at + 2); m += 1) {
        versions.push(textAt(file, strings + file.readUInt32LE(version + 8)));
        version += file.readUInt32LE(version + 12);
      }
      at += file.readUInt32LE(at + 12);
    }
  }
  return { needed, versions: [...new Set(versions)], align: Math.min(...loads.map(({ align }) => align)) };
}

/** Returns the newest glibc that a library needs, such as `[2, 17]`, or undefined. */
export function newestGlibc(file) {
  const found = readElf(file).versions.flatMap(
    (version) => /^GLIBC_(\d+)\.(\d+)/.exec(version)?.slice(1, 3).map(Number) ?? [],
  );
  const pairs = Array.from({ length: found.length / 2 }, (_, n) => found.slice(n * 2, n * 2 + 2));
  return pairs.toSorted(([a, b], [c, d]) => a - c || b - d).at(-1);
}
