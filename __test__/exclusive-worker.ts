import { Program } from "./faults/faults.js";
import { fixture } from "./helpers.js";

/** A program that works on runs, as it is told. */
export class Worker {
  readonly program: Program;

  constructor(target: string) {
    this.program = new Program([fixture("exclusive.mjs"), target], { deadlineMs: 120_000 });
  }

  tell(command: string, given: object): void {
    this.program.tell(JSON.stringify({ command, ...given }));
  }

  /** The line about this call that has the property. */
  async says(name: string, property = "log"): Promise<any> {
    for (let lines = 1; ; lines++) {
      await this.program.until(lines);
      const said = this.program.said[lines - 1];
      if (said?.name === name && (property in said || "code" in said)) return said;
    }
  }

  /** Begins to work on a run, and resolves when it does. */
  async works(name: string, run: string, given: object = {}): Promise<void> {
    this.tell("work", { name, run, ...given });
    await this.says(name, "event");
  }
}
