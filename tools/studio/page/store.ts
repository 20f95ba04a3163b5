// Information about the store: read at the start, and again after saves.
import { signal } from "@preact/signals";
import { type StoreInfo, type Trouble, api, troubleOf } from "./api.js";
import { listenAfter } from "./events.js";

export const store = signal<StoreInfo | null>(null);
export const storeTrouble = signal<Trouble | null>(null);

export async function readStore(): Promise<void> {
  try {
    store.value = await api.info();
    storeTrouble.value = null;
  } catch (error) {
    storeTrouble.value = troubleOf(error);
  }
}

listenAfter(3_000, () => void readStore());
