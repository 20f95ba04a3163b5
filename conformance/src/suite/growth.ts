// What contracts do to measure how many bytes are stored.
import type { Trial } from "./types.js";

/** Returns a text of these words and of numbers, which does not shrink to nothing. */
export function textOf(words: readonly string[], { random }: Pick<Trial<never>, "random">, length: number): string {
  let text = "";
  while (text.length < length) text += `${words[random(words.length)]} ${random(1_000)} `;
  return text.slice(0, length);
}

/** Adds the bytes of the closed store, and how many times they are those of something else, which `of` names. */
export async function measure(trial: Trial<any>, name: string, data?: { of: string; bytes: number }): Promise<void> {
  const bytes = await trial.bytes();
  if (bytes === undefined) return;
  trial.figure(name, bytes, "bytes");
  if (data !== undefined) trial.figure(`${name}, ${data.of}`, bytes / data.bytes, "times");
}
