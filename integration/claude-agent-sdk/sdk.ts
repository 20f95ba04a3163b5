/** Runs the SDK with a program in the place of `claude`. Nothing needs a model or a network. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Options, type SDKMessage, type SessionStore as Theirs, query } from "@anthropic-ai/claude-agent-sdk";
import { folder } from "../../__test__/helpers.js";

export const agent = fileURLToPath(new URL("fixtures/agent.mjs", import.meta.url));
export const turn = fileURLToPath(new URL("fixtures/turn.mjs", import.meta.url));

/** A machine: the folder that an agent works in, and its configuration. */
export function machine(): { cwd: string; projectKey: string; env: Record<string, string | undefined> } {
  const root = folder();
  const cwd = join(root, "work");
  mkdirSync(cwd);
  const env = { ...process.env, CLAUDE_CONFIG_DIR: join(root, "config"), ANTHROPIC_API_KEY: "x" };
  return { cwd, projectKey: cwd.replaceAll(/[^a-zA-Z0-9]/g, "-"), env };
}

/** Takes a turn, and returns what the user sees of it. */
export async function ask(sessionStore: Theirs, prompt: string, options: Options) {
  const messages: SDKMessage[] = [];
  const all = { ...options, sessionStore, pathToClaudeCodeExecutable: agent };
  for await (const message of query({ prompt, options: all })) messages.push(message);
  const result = messages.find((message) => message.type === "result");
  return {
    session: result!.session_id,
    result: result?.subtype === "success" ? result.result : undefined,
    mirrorErrors: messages.filter((message) => message.type === "system" && message.subtype === "mirror_error").length,
  };
}
