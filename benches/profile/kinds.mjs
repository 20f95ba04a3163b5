// What four savers save, and the threads whose processor time is read.
import { allNew, largeNew, sliding } from "../performance/work.mjs";

export const SAVERS = 4;

/** A kind of work, and how many saves a turn has. */
export const KINDS = {
  "10 KB, all of it new": { work: allNew, count: 800 },
  "10 KB, first message dropped, one appended": { work: () => sliding(SAVERS), count: 800 },
  "1 MB, all of it new": { work: largeNew, count: 60 },
};

/** The threads of the process, with their titles in the table. */
export const THREADS = {
  main: "main thread",
  writer: "writer",
  encoder: "encoder",
  checkpoint: "log copier",
  others: "V8 and others",
};
