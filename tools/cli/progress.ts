/** Shows the progress of a command, in one line of stderr. */

import type { Style } from "./style.js";
import { cut } from "./table.js";

/** The time between two updates, in ms. */
const INTERVAL = 100;

export class Progress {
  readonly #stream: NodeJS.WriteStream;
  readonly #shown: boolean;
  readonly #style: Style;
  #last = 0;
  #drawn = false;

  constructor(stream: NodeJS.WriteStream, shown: boolean, style: Style) {
    this.#stream = stream;
    this.#shown = shown;
    this.#style = style;
  }

  /** Shows a text. With `done` and `of`, also a bar. */
  show(text: string, done?: number, of?: number): void {
    const now = performance.now();
    if (!this.#shown || (this.#drawn && now - this.#last < INTERVAL)) return;
    [this.#last, this.#drawn] = [now, true];
    const bar = done === undefined || of === undefined || of === 0 ? "" : this.#bar(Math.min(1, done / of));
    this.#stream.write(`\r\u001b[K${bar}${cut(text, (this.#stream.columns || 80) - 30)}`);
  }

  #bar(part: number): string {
    const [cells, percent] = [20, Math.floor(part * 100)];
    const full = Math.round(part * cells);
    const bar = this.#style("green", "━".repeat(full)) + this.#style("dim", "━".repeat(cells - full));
    return `${bar} ${String(percent).padStart(3)} % `;
  }

  /** Removes the line. */
  clear(): void {
    if (this.#drawn) this.#stream.write("\r\u001b[K");
    this.#drawn = false;
  }
}
