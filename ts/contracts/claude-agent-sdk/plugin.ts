/** What the sessions of the Claude Agent SDK are, for everything outside of this folder: see {@link Plugin}. */

import type { Plugin } from "../../plugin/plugin.js";
import { readRecords } from "../../plugin/values.js";

export const plugin: Plugin = { values: readRecords("entries") };
