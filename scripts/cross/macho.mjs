// Reads what a library for macOS needs.
import { textAt } from "./elf.mjs";

const MAGIC = 0xfeedfacf;
const LC = { symbols: 0x2, loadLibrary: 0xc, loadWeak: 0x80000018, reexport: 0x8000001f, build: 0x32, minimum: 0x24 };
/** Fields of a symbol's type: it is of a debugger; its kind. */
const N_STAB = 0xe0;
const N_TYPE = 0xe;

/**
 * Returns the libraries that a library loads, the symbols that it takes from each, and the oldest macOS that it runs on.
 * Symbols under `undefined` are looked up in the whole process when the library is loaded.
 */
export function readMachO(file) {
  if (file.readUInt32LE(0) !== MAGIC) throw new Error("this is no library for 64-bit macOS");
  const libraries = [];
  let symbols;
  let minimum;
  let at = 32;
  for (let n = 0; n < file.readUInt32LE(16); n += 1) {
    const command = file.readUInt32LE(at);
    if ([LC.loadLibrary, LC.loadWeak, LC.reexport].includes(command))
      libraries.push(textAt(file, at + file.readUInt32LE(at + 8)));
    if (command === LC.symbols) symbols = [8, 12, 16].map((field) => file.readUInt32LE(at + field));
    if (command === LC.build) minimum = file.readUInt32LE(at + 12);
    if (command === LC.minimum) minimum = file.readUInt32LE(at + 8);
    at += file.readUInt32LE(at + 4);
  }
  const [table, count, strings] = symbols;
  const imports = [];
  for (let n = 0; n < count; n += 1) {
    const entry = table + n * 16;
    const type = file.readUInt8(entry + 4);
    if ((type & N_STAB) !== 0 || (type & N_TYPE) !== 0) continue;
    const name = textAt(file, strings + file.readUInt32LE(entry));
    // Libraries are counted from 1.
    imports.push({ name, library: libraries[(file.readUInt16LE(entry + 6) >> 8) - 1] });
  }
  return { libraries, imports, minimum: `${minimum >> 16}.${(minimum >> 8) & 0xff}` };
}
