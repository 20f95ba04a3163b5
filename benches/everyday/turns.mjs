// Measures a subject on a database and prints its rows as JSON. Run by `subject`:
// `node turns.mjs threads|wide|runs|server sqlite|postgres [--quick]`, or `node turns.mjs contracts/agentos sqlite`.
import { syncs } from "../lib/sync.mjs";

const [, , subject, name] = process.argv;
const { measure, contract } = await import(`./${subject}.mjs`);
const rows = contract === undefined ? await onDatabase(measure) : await ofStores(contract);
if (name === "sqlite" && !(syncs().syncs > 0)) throw new Error(`no sync was counted: ${subject}`);
console.log(JSON.stringify(rows));

async function onDatabase(measure) {
  const { databases } = await import("./databases.mjs");
  return databases[name](measure);
}

async function ofStores(contract) {
  const { measureStores } = await import("./stores.mjs");
  return measureStores(contract);
}
