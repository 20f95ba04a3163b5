// Runs the programs that `code` prints, as a user does: in a file of a project, with the things that the program's
// comments ask for.
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { openInspector } from "forkpoint/inspect";

export const modules = ["esm", "cjs"] as const;
export type Module = (typeof modules)[number];

/** A run, or one of its checkpoints. */
export interface Printed {
  space: string;
  run: string;
  ns?: string;
  id?: string;
}

interface Run {
  module?: Module;
  /** What the reader fills in: pairs of a text that stands in the program once, and its replacement. */
  fill?: Array<[text: string, by: string]>;
  env?: Record<string, string>;
}

export interface Ended {
  code: number | null;
  output: string;
  errors: string;
  /** The tools that the program has called, in order. */
  called: string[];
}

export class Programs {
  /** Every program that ran: what it is about, and its module. */
  readonly executed: string[] = [];
  readonly #folder: string;
  readonly #names: string;
  readonly #agent: string;
  readonly #open: typeof openInspector;

  /** `project` is a file beside the framework. `agent` is a file there that exports `names`. */
  constructor(project: string, agent: string, names: string, open: typeof openInspector) {
    this.#open = open;
    this.#folder = mkdtempSync(fileURLToPath(new URL(".snippets-", project)));
    this.#agent = fileURLToPath(new URL(agent, project));
    this.#names = names;
  }

  /** Removes the files of the programs. */
  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** The database that a test uses. */
  database(name: string): string {
    return join(this.#folder, `${name}.db`);
  }

  /** Prints the program for a run. Each program that is printed must be executed. */
  async code(database: string, printed: Printed, module: Module): Promise<string> {
    await using inspector = await this.#open(database);
    const [snippet] = await inspector.code(printed as never, { module });
    return snippet!.code;
  }

  /** Prints the program for a run, and runs it. `what` says what it is about. */
  async print(what: string, database: string, printed: Printed, { module = "esm", ...run }: Run = {}): Promise<Ended> {
    return this.execute(what, await this.code(database, printed, module), { module, ...run });
  }

  /** Runs a printed program, and counts it. */
  execute(what: string, code: string, run: Run & { module: Module }): Ended {
    this.executed.push(`${what} ${run.module}`);
    return this.run(code, run);
  }

  /** Runs a program. */
  run(code: string, { module = "esm", fill = [], env = {} }: Run = {}): Ended {
    let filled = code;
    for (const [text, by] of fill) {
      if (filled.split(text).length !== 2) throw new Error(`the program must have ${text} once:\n${filled}`);
      filled = filled.replace(text, () => by);
    }
    const agent = JSON.stringify(this.#agent);
    const begin =
      module === "esm" ? `import { ${this.#names} } from ${agent};` : `const { ${this.#names} } = require(${agent});`;
    const file = join(this.#folder, `program.${module === "esm" ? "mjs" : "cjs"}`);
    writeFileSync(file, `${begin}\n${filled}`);
    const journal = join(this.#folder, "journal");
    rmSync(journal, { force: true });
    const { status, stdout, stderr } = spawnSync(process.execPath, [file], {
      encoding: "utf8",
      // Clear the test runner's NODE_OPTIONS for the child.
      env: { ...process.env, NODE_OPTIONS: "", JOURNAL: journal, ...env },
      timeout: 55_000,
      killSignal: "SIGKILL",
    });
    const called = existsSync(journal) ? readFileSync(journal, "utf8").trimEnd().split("\n") : [];
    return { code: status, output: stdout, errors: stderr, called };
  }
}
