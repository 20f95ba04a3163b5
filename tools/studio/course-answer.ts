/** The server's answer to `course`. Uses nothing of Node, because the page uses this type. */

import type { ReadCourse } from "../../ts/inspect/steps.js";

/** The part of a course that the page requests. */
export interface CourseAnswer extends Pick<ReadCourse, "subgraphs" | "pauses" | "program" | "next"> {
  /** The number of subgraph steps that did not fit. The oldest are left out. */
  moreNested: number;
}
