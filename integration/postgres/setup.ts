/** Gives the suites of other folders a Postgres server as their target: their `kinds` is "postgres" alone. */
import { makeDatabase } from "./databases.js";

Object.assign(globalThis, { makeDatabase });
