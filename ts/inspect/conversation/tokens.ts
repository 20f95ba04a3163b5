/** Reads the tokens and the model of a message, in the forms of providers and frameworks. */

import type { Reader } from "./reader.js";
import type { TokenUsage } from "./message.js";

/** The keys of the objects with details about the input's and the output's tokens. */
const details = {
  input: [
    "input_token_details",
    "inputTokenDetails",
    "prompt_tokens_details",
    "input_tokens_details",
    "inputTokensDetails",
  ],
  output: [
    "output_token_details",
    "outputTokenDetails",
    "completion_tokens_details",
    "output_tokens_details",
    "outputTokensDetails",
  ],
};

/** Reads an object with token counts. Returns null for any other object. */
export function tokensIn(reader: Reader, form: unknown): TokenUsage | null {
  if (!reader.isRecord(form)) return null;
  const count = (...keys: string[]) => reader.count(form, ...keys);
  // The usage of a run may be a list with an object for each request.
  const detail = (names: string[], ...keys: string[]): number | null => {
    const more = reader.get(form, ...names);
    const all = (Array.isArray(more) ? more : [more]).map((each) => reader.count(each, ...keys));
    return all.reduce((sum, each) => (each === null ? sum : (sum ?? 0) + each), null);
  };
  let input = count("input_tokens", "inputTokens", "prompt_tokens", "promptTokens", "promptTokenCount", "input");
  const output = count(
    "output_tokens",
    "outputTokens",
    "completion_tokens",
    "completionTokens",
    "candidatesTokenCount",
    "output",
  );
  // Anthropic counts cached tokens separately.
  const [read, written] = [count("cache_read_input_tokens"), count("cache_creation_input_tokens")];
  const inDetails = detail(details.input, "cache_read", "cacheReadTokens", "cached_tokens", "cachedTokens");
  if (input !== null && inDetails === null) input += (read ?? 0) + (written ?? 0);
  const cached = inDetails ?? count("cachedInputTokens", "cachedContentTokenCount") ?? read;
  const reasoning =
    detail(details.output, "reasoning", "reasoningTokens", "reasoning_tokens") ??
    count("reasoningTokens", "reasoning_tokens", "thoughtsTokenCount");
  const total =
    count("total_tokens", "totalTokens", "totalTokenCount", "tokensUsed") ??
    (input !== null && output !== null ? input + output : null);
  if (input === null && output === null && total === null) return null;
  return { input, output, cached, reasoning, total };
}

/** Reads the tokens of a message from the first object that has them. */
export function tokensOf(reader: Reader, message: unknown): TokenUsage | null {
  const response = reader.get(message, "response_metadata", "responseMetadata");
  const metadata = reader.get(message, "metadata");
  const holders = [
    reader.get(message, "usage_metadata", "usageMetadata"),
    reader.get(message, "usage"),
    reader.get(response, "usage_metadata"),
    reader.get(response, "usage", "tokenUsage", "token_usage"),
    reader.get(metadata, "totalUsage"),
    reader.get(metadata, "usage"),
    metadata,
  ];
  for (const holder of holders) {
    const tokens = tokensIn(reader, holder);
    if (tokens !== null) return tokens;
  }
  return null;
}

const modelNames = ["model", "modelId", "model_name", "model_id", "modelName"];

export function modelOf(reader: Reader, message: unknown): string | null {
  const response = reader.get(message, "response_metadata", "responseMetadata", "response");
  const metadata = reader.get(message, "metadata");
  for (const holder of [message, response, metadata]) {
    const model =
      reader.text(holder, ...modelNames) ?? reader.text(reader.get(holder, "model"), "id", "modelId", "name");
    if (model !== null) return model;
  }
  return null;
}

/** Returns how long the model took, in ms. */
export function durationOf(reader: Reader, message: unknown): number | null {
  const response = reader.get(message, "response_metadata", "responseMetadata");
  const names = ["durationMs", "duration_ms", "latencyMs", "latency_ms", "elapsedMs"];
  for (const holder of [message, response, reader.get(message, "metadata")]) {
    const found = reader.count(holder, ...names);
    if (found !== null) return found;
  }
  // Ollama measures in nanoseconds.
  const nanoseconds = reader.count(response, "total_duration");
  return nanoseconds === null ? null : nanoseconds / 1e6;
}
