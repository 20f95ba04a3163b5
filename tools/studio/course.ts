/** The route `course`: data of a run for the waterfall and the graph, without the steps, which the page has. */

import { MAX_ANSWER, fitting } from "./answers.js";
import type { Query } from "./query.js";
import { Refusal } from "./refusal.js";
import type { CheckpointInfo } from "../../ts/plugin/views.js";
import type { ReadCourse } from "../../ts/inspect/steps.js";
import type { CourseAnswer } from "./course-answer.js";
import type { Inspector } from "../../ts/inspect/inspector.js";

export async function course(inspector: Inspector, query: Query): Promise<CourseAnswer> {
  const ref = query.run();
  const found = await inspector.course(ref);
  if (found === null) throw new Refusal(404, "NOT_FOUND", "there is no such run: reload the list of runs");
  return shortCourse(found);
}

/** Removes fields that the page does not use, so that the answer is small. */
export function shortCourse({
  subgraphs,
  pauses,
  program,
  next,
}: Omit<ReadCourse, "steps" | "effects" | "status">): CourseAnswer {
  const newest = subgraphs.map(shortStep).toSorted((a, b) => b.seq - a.seq);
  const fit = fitting(newest, MAX_ANSWER * 0.7);
  const isSmall = program !== null && JSON.stringify(program).length < MAX_ANSWER * 0.1;
  return {
    subgraphs: fit,
    moreNested: newest.length - fit.length,
    pauses: fitting(pauses, MAX_ANSWER * 0.1),
    program: isSmall ? program : null,
    next: next && fitting(next, MAX_ANSWER * 0.05),
  };
}

/** The fields of the metadata that place a subgraph's step. */
const NEEDED = ["source", "parents", "interrupted"];

function shortStep(step: CheckpointInfo): CheckpointInfo {
  const meta = Object.fromEntries(NEEDED.filter((name) => name in step.meta).map((name) => [name, step.meta[name]]));
  return { ...step, meta };
}
