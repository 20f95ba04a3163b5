// Requests data for a component.
import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { type Trouble, troubleOf } from "./api.js";

export interface Answer<T> {
  /** Null: there is no answer yet. */
  answer: Signal<T | null>;
  trouble: Signal<Trouble | null>;
  again: () => void;
}

/**
 * Calls `ask` whenever one of `needs` changes, after a pause in ms. A new call aborts the previous one. The last answer
 * stays until the next one, and also if `ask` returns undefined because there is nothing to request.
 */
export function useAnswer<T>(
  ask: (signal: AbortSignal) => Promise<T | null> | undefined,
  needs: readonly unknown[],
  pause = 0,
): Answer<T> {
  const answer = useSignal<T | null>(null);
  const trouble = useSignal<Trouble | null>(null);
  const asked = useSignal(0);
  useEffect(() => {
    const own = new AbortController();
    const question = async () => {
      try {
        const found = await ask(own.signal);
        if (found === undefined || own.signal.aborted) return;
        answer.value = found;
        trouble.value = null;
      } catch (error) {
        if (!own.signal.aborted) trouble.value = troubleOf(error);
      }
    };
    const timer = pause === 0 ? void question() : setTimeout(() => void question(), pause);
    return () => {
      clearTimeout(timer);
      own.abort();
    };
  }, [...needs, asked.value]);
  return { answer, trouble, again: () => (asked.value += 1) };
}
