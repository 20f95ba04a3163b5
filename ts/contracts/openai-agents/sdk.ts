/** What the stores use of the SDK: its class of errors, and its schema of items. The SDK is an optional peer. */

import { typeError } from "../../bridge/errors.js";
import type { ErrorCode } from "../../bridge/forkpoint-error.js";

/** The parts of the module `@openai/agents` that a session uses. */
export interface AgentsModule {
  UserError: new (message: string) => Error;
  protocol: { ModelItem: { safeParse(item: unknown): { success: boolean } } };
}

/** Stands for the SDK if it is not found. */
const nothing: AgentsModule = {
  UserError: class UserError extends Error {
    override readonly name = "UserError";
  },
  protocol: { ModelItem: { safeParse: () => ({ success: true }) } },
};

let found: Promise<AgentsModule> | undefined;

/** The installed SDK, or what stands for it. */
export function installedSdk(): Promise<AgentsModule> {
  found ??= find(["@openai/agents-core", "@openai/agents"]);
  return found;
}

async function find(names: readonly string[]): Promise<AgentsModule> {
  for (const name of names) {
    try {
      // A program that uses `require` has another copy of the SDK's classes than one that uses `import`.
      const path = require.resolve(name);
      const sdk = (path in require.cache ? require(path) : await import(name)) as AgentsModule;
      if (isSdk(sdk)) return sdk;
    } catch {
      // It is not installed, or not here.
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
