// Measures a subject on a database and prints its rows as JSON. Run by `subject`:
// `node turns.mjs threads|wide|runs|server sqlite|postgres [--quick]`.
import { syncs } from "../lib/sync.mjs";
import { databases } from "./databases.mjs";

const [, , subject, name] = process.argv;
const { measure } = await import(`./${subject}.mjs`);
const rows = await databases[name](measure);
if (name === "sqlite" && !(syncs().syncs > 0)) throw new Error(`no sync was counted: ${subject}`);
console.log(JSON.stringify(rows));
