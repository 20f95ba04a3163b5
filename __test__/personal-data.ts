/** Runs the rows of the table in docs/personal-data.md: stores data of two people, deletes those of one, and searches the files. */
import { readFileSync, readdirSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { folder } from "./helpers.js";

export const page = readFileSync(new URL("../docs/personal-data.md", import.meta.url), "utf8");

interface Store {
  vacuum(): Promise<void>;
  close(): Promise<void>;
}

/** What a row stores and deletes. */
export interface Row<S extends Store> {
  open(target: string, options: { secureDelete?: boolean }): S | Promise<S>;
  /** Stores data. `person` is in every text, and in the ids. */
  store(store: S, person: string): Promise<unknown>;
  /** True if the bytes need a vacuum() with `secureDelete`, too. */
  needsVacuum?: boolean;
  /** Deletes the data by the call that the row names. */
  remove(store: S, person: string): Promise<unknown>;
}

/** Returns the files of a database whose names or bytes have a text. */
function filesWith(path: string, text: string): string[] {
  const beside = readdirSync(dirname(path)).filter((name) => name.startsWith(basename(path)));
  const all = beside.flatMap((name) => {
    const whole = join(dirname(path), name);
    if (!statSync(whole).isDirectory()) return [whole];
    return readdirSync(whole, { recursive: true }).map((inner) => join(whole, String(inner)));
  });
  const files = all.filter((file) => statSync(file).isFile());
  return files.filter((file) => file.slice(path.length).includes(text) || readFileSync(file).includes(text));
}

const ways = [
  { name: "a SQLite file, then vacuum()", target: "", secureDelete: false },
  { name: "a SQLite file with secureDelete", target: "", secureDelete: true },
  { name: "text files, then vacuum()", target: "jsonl:", secureDelete: false },
];

/** Tests a row of the table. `call` is the call that the row names. */
export function forgets<S extends Store>(framework: string, call: string, row: Row<S>): void {
  describe(framework, () => {
    it("has a row with this call", () => {
      const rows = page.split("\n").filter((line) => line.startsWith(`| ${framework} | `));
      expect(rows).toEqual([expect.stringContaining(`\`${call}\``)]);
    });

    it.each(ways)("leaves nothing in $name", async ({ target, secureDelete }) => {
      const path = join(folder(), "agent.db");
      const store = await row.open(`${target}${path}`, secureDelete ? { secureDelete } : {});
      onTestFinished(() => store.close());
      const [ada, bob] = ["ada-lovelace", "bob-babbage"];
      for (const person of [ada, bob]) await row.store(store, person);
      expect(filesWith(path, ada)).not.toEqual([]);
      await row.remove(store, ada);
      if (!secureDelete || row.needsVacuum === true) await store.vacuum();
      expect(filesWith(path, ada)).toEqual([]);
      expect(filesWith(path, bob)).not.toEqual([]);
    });
  });
}
