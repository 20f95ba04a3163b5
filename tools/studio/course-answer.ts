/** What the server answers to `course`. The page uses this type, so the module uses nothing of Node. */

import type { ReadCourse } from "../../ts/inspect/steps.js";

/** The part of a course that the page asks for. */
export interface CourseAnswer extends Pick<ReadCourse, "subgraphs" | "pauses" | "program" | "next"> {
  /** How many steps of subgraphs did not fit. The oldest are left out. */
  moreNested: number;
}
