/** The SDK's error class and schema of items, for the stores. The SDK is an optional peer. */

import { typeError } from "../../bridge/errors.js";
import type { ErrorCode } from "../../bridge/forkpoint-error.js";

/** The parts of the module `@openai/agents` that a session uses. */
export interface AgentsModule {
  UserError: new (message: string) => Error;
  protocol: { ModelItem: { safeParse(item: unknown): { success: boolean } } };
}

/** Replaces the SDK if it is not found. */
const nothing: AgentsModule = {
  UserError: class UserError extends Error {
    override readonly name = "UserError";
  },
  protocol: { ModelItem: { safeParse: () => ({ success: true }) } },
};

let found: Promise<AgentsModule> | undefined;

/** Returns the installed SDK, or its replacement. */
export function installedSdk(): Promise<AgentsModule> {
  found ??= find(["@openai/agents-core", "@openai/agents"]);
  return found;
}

async function find(names: readonly string[]): Promise<AgentsModule> {
  for (const name of names) {
    try {
      // `require` and `import` load different copies of the SDK's classes.
      const path = require.resolve(name);
      const sdk = (path in require.cache ? require(path) : await import(name)) as AgentsModule;
      if (isSdk(sdk)) return sdk;
    } catch {
      // The SDK is not installed, or not found from here.
    }
  }
  return nothing;
}

function isSdk(sdk: Partial<AgentsModule> | null): sdk is AgentsModule {
  return typeof sdk?.UserError === "function" && typeof sdk.protocol?.ModelItem?.safeParse === "function";
}

export function sdkOption(given: unknown, name: string): AgentsModule {
  if (typeof given === "object" && isSdk(given)) return given;
  throw typeError(`${name} must be the module @openai/agents: import * as agents from "@openai/agents"`);
}

/** Makes an error of the SDK's class. */
export function userError({ UserError }: AgentsModule, code: ErrorCode, message: string): Error {
  return Object.assign(new UserError(message), { code, retryable: false });
}
