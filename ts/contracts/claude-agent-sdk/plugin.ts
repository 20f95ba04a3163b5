/** The plug-in of the Claude Agent SDK's sessions: see {@link Plugin}. */

import type { Plugin } from "../../plugin/plugin.js";
import { readRecords } from "../../plugin/values.js";

export const plugin: Plugin = { values: readRecords("entries") };
