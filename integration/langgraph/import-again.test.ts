// A second import from SqliteSaver. Needs the packages of the benchmarks: `npm run bench -- langgraph --quick` installs them.
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, onTestFinished } from "vitest";
import { type Old, importAgain } from "./import-again.js";
import { folder, kinds } from "./helpers.js";

const peers = new URL("../peers/package.json", import.meta.url);
const isInstalled = existsSync(fileURLToPath(new URL("node_modules/better-sqlite3/build/Release", peers)));

function makeOld(): Old {
  const { SqliteSaver } = createRequire(peers)("@langchain/langgraph-checkpoint-sqlite");
  const path = join(folder(), "old.db");
  const saver = SqliteSaver.fromConnString(path);
  onTestFinished(() => saver.db.close());
  return { saver, importInto: (target, options) => target.importSqliteSaver(path, options) };
}

describe.skipIf(!isInstalled)("from SqliteSaver", () => importAgain(kinds, makeOld));
