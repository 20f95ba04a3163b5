import { Program } from "./faults/faults.js";
import { fixture } from "./helpers.js";

interface Waiting {
  isMeant: (said: any) => boolean;
  resolve: (said: any) => void;
  reject: (error: unknown) => void;
}

/** A program that works on runs, as it is told. */
export class Worker {
  readonly program: Program;
  /** What it has said about each call. */
  readonly #said = new Map<string, any[]>();
  readonly #waiting = new Map<string, Waiting[]>();

  /** `stores` is the number of its store objects. */
  constructor(target: string, { stores = 1, env = {} } = {}) {
    let read = 0;
    const onLine = () => {
      for (; read < this.program.lines.length; read++) this.#hear(this.program.lines[read]!);
    };
    this.program = new Program([fixture("exclusive.mjs"), target, `${stores}`], { deadlineMs: 600_000, env, onLine });
    this.program.ended.then(
      ({ code, signal, errors }) => this.#fail(new Error(`the program ended with ${code ?? signal}: ${errors}`)),
      (error: unknown) => this.#fail(error),
    );
  }

  #hear(line: string): void {
    // A kill may have cut the last line.
    if (!line.endsWith("}")) return;
    const said = JSON.parse(line);
    const { name } = said;
    this.#said.set(name, [...(this.#said.get(name) ?? []), said]);
    const [done, left] = [true, false].map((is) =>
      (this.#waiting.get(name) ?? []).filter(({ isMeant }) => isMeant(said) === is),
    );
    this.#waiting.set(name, left!);
    for (const { resolve } of done!) resolve(said);
  }

  #fail(error: unknown): void {
    for (const { reject } of [...this.#waiting.values()].flat()) reject(error);
  }

  tell(command: string, given: object): void {
    this.program.tell(JSON.stringify({ command, ...given }));
  }

  /** The line about this call that has the property. */
  says(name: string, property = "log"): Promise<any> {
    const isMeant = (said: any) => property in said || "code" in said;
    const said = this.#said.get(name)?.find(isMeant);
    if (said !== undefined) return Promise.resolve(said);
    return new Promise((resolve, reject) => {
      this.#waiting.set(name, [...(this.#waiting.get(name) ?? []), { isMeant, resolve, reject }]);
    });
  }

  /** Begins to work on a run, and resolves when it does. */
  async works(name: string, run: string, given: object = {}): Promise<void> {
    this.tell("work", { name, run, ...given });
    await this.says(name, "event");
  }
}
