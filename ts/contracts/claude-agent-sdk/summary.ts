/** The SDK's function for the summaries of sessions. The SDK is an optional peer, and an ES module. */

import { ForkpointError, textOf, typeError } from "../../bridge/errors.js";
import type { FoldSessionSummary } from "./contract.js";

const SDK = "@anthropic-ai/claude-agent-sdk";

/** The SDK's function, if the SDK is installed and this version of Node can load ES modules with `require`. */
export function installedFold(): FoldSessionSummary | undefined {
  try {
    return foldOf(require("@anthropic-ai/claude-agent-sdk"));
  } catch {
    return undefined;
  }
}

/** The function of the SDK, loaded with `import`. */
export async function importedFold(): Promise<FoldSessionSummary> {
  let found: unknown;
  try {
    found = await import("@anthropic-ai/claude-agent-sdk" as string);
  } catch (error) {
    throw new ForkpointError("UNSUPPORTED", `${SDK} cannot be loaded (${textOf(error)}): install it`, { cause: error });
  }
  const fold = foldOf(found);
  if (fold !== undefined) return fold;
  throw new ForkpointError("UNSUPPORTED", `this version of ${SDK} has no foldSessionSummary: update it`);
}

function foldOf(module: unknown): FoldSessionSummary | undefined {
  const { foldSessionSummary } = module as { foldSessionSummary?: unknown };
  return typeof foldSessionSummary === "function" ? (foldSessionSummary as FoldSessionSummary) : undefined;
}

export function foldOption(given: unknown, name: string): FoldSessionSummary {
  if (typeof given === "function") return given as FoldSessionSummary;
  throw typeError(`${name} must be the function foldSessionSummary of ${SDK}`);
}
