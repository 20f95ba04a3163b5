// Reads what a library for Windows needs.
import { textAt } from "./elf.mjs";

/** Returns the libraries that a library loads, with the names of the symbols that it takes from each. */
export function readPe(file) {
  const header = file.readUInt32LE(0x3c);
  if (file.toString("latin1", header, header + 4) !== "PE\0\0") throw new Error("this is no library for Windows");
  const optional = header + 24;
  const sections = optional + file.readUInt16LE(header + 20);
  const offsetOf = (address) => {
    for (let n = 0; n < file.readUInt16LE(header + 6); n += 1) {
      const [size, start, , offset] = [8, 12, 16, 20].map((field) => file.readUInt32LE(sections + n * 40 + field));
      if (address >= start && address < start + size) return address - start + offset;
    }
    throw new Error(`no section has the address ${address}`);
  };
  // The second directory of a 64-bit file lists the imports.
  const directory = file.readUInt32LE(optional + 112 + 8);
  const libraries = {};
  for (let at = offsetOf(directory); file.readUInt32LE(at + 12) !== 0; at += 20) {
    const names = [];
    for (let entry = offsetOf(file.readUInt32LE(at) || file.readUInt32LE(at + 16)); ; entry += 8) {
      const value = file.readBigUInt64LE(entry);
      if (value === 0n) break;
      // The highest bit: by number, not by name.
      if (value >> 63n === 0n) names.push(textAt(file, offsetOf(Number(value)) + 2));
    }
    libraries[textAt(file, offsetOf(file.readUInt32LE(at + 12))).toLowerCase()] = names;
  }
  return libraries;
}
