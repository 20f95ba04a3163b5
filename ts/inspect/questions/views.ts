/** The inspector's types of questions and answers. */

import type { Stranded } from "../../plugin/views.js";

/** A stored answer, from `inspector.answer()` or from the program. */
export interface StoredAnswer {
  /** In the JSON form of values: see {@link CheckpointDetail}. */
  value: unknown;
  /** The name of the person who answered. Null: none was given. */
  by: string | null;
  /** When it was stored, in ms since the epoch. */
  at: number;
  /** True if the program answered itself. */
  program?: true;
}

/** A question of a run to a human. */
export interface Question {
  /** Identifies the question in its run: the id of the interrupt, the asking node or task, and so on. */
  id: string;
  /** The node or agent that asks. Null: unknown. */
  node: string | null;
  /** The name of the tool to run. Null: none. */
  tool: string | null;
  /** The arguments of the tool, in the JSON form of values. Null: none. */
  args: unknown;
  /** The text of the question. Empty if there is none. */
  text: string;
  /** The answers to choose from. Empty: any. */
  choices: string[];
  /** The original question of the program, in the JSON form of values. */
  value: unknown;
  /** The stored forms of `approve` and `reject` in `answer()`, in the JSON form of values. */
  approve: unknown;
  reject: unknown;
  /** False if the framework takes an answer only in its own program. Use the code then. */
  canAnswer: boolean;
  /** The code that answers the question in a program, with the value of `approve`. */
  code: string;
  /** Null: the question has no answer yet. */
  answered: StoredAnswer | null;
}

/** The result of `answer()`. */
export interface AnsweredQuestion extends Question {
  /** Why the version of the program that started last does not continue the run. Null: it does, or this is unknown. */
  stranded: Stranded | null;
}

/** An answer to store. */
export interface Answer {
  /** The id of the question. Optional if only one question is unanswered. */
  id?: string | undefined;
  /** The answer, in the JSON form of values. */
  value?: unknown;
  /** If true, stores `approve` of the question. */
  approve?: boolean | undefined;
  /** If true or a reason, stores `reject` of the question. Frameworks without reasons ignore the reason. */
  reject?: boolean | string | undefined;
  /** The name of the person who answers, at most 200 characters. */
  by?: string | undefined;
}
