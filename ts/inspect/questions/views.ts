/** What the inspector shows of questions and answers. */

/** An answer that was stored: with `inspector.answer()`, or by the program. */
export interface StoredAnswer {
  /** In the JSON form of values: see {@link CheckpointDetail}. */
  value: unknown;
  /** The name of the one who answered. Null: none was given. */
  by: string | null;
  /** When it was stored, in ms since the epoch. */
  at: number;
  /** True if the program has answered itself, instead of the inspector or the command line. */
  program?: true;
}

/** What a run asks a human. */
export interface Question {
  /** Names the question in its run: the id of the interrupt, the node or the task that asks, and so on. */
  id: string;
  /** The node or the agent that asks. Null: the store does not know it. */
  node: string | null;
  /** The tool that is to run. Null: the question names none. */
  tool: string | null;
  /** The arguments of the tool, in the JSON form of values. Null: there are none. */
  args: unknown;
  /** What is asked, in words. Empty if the question has no text. */
  text: string;
  /** The answers to choose from. Empty: any. */
  choices: string[];
  /** The question as the program asked it, in the JSON form of values. */
  value: unknown;
  /** What `approve` and `reject` of `answer()` are stored as, in the JSON form of values. */
  approve: unknown;
  reject: unknown;
  /** False if the framework takes an answer only in its own program. Then use the code. */
  canAnswer: boolean;
  /** The code that answers the question in a program, with the value of `approve`. */
  code: string;
  /** Null: the question has no answer yet. */
  answered: StoredAnswer | null;
}

/** An answer to store. */
export interface Answer {
  /** The id of the question. It can be left out if only one question has no answer. */
  id?: string | undefined;
  /** The answer, in the JSON form of values. */
  value?: unknown;
  /** If true, stores `approve` of the question. */
  approve?: boolean | undefined;
  /** If true or a reason, stores `reject` of the question. A framework that takes no reason ignores it. */
  reject?: boolean | string | undefined;
  /** Who answers: a name, at most 200 characters. */
  by?: string | undefined;
}
