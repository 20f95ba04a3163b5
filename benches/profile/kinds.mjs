// What the savers save, and the threads whose processor time is read.
import { allNew, largeNew, sliding } from "../performance/work.mjs";

/** A kind of work, how many savers do it at once, and how many saves a turn has. */
export const KINDS = {
  "one saver, 10 KB, all of it new": { work: allNew, savers: 1, count: 800 },
  "four savers, 10 KB, all of it new": { work: allNew, savers: 4, count: 800 },
  "four savers, 10 KB, first message dropped, one appended": { work: () => sliding(4), savers: 4, count: 800 },
  "four savers, 1 MB, all of it new": { work: largeNew, savers: 4, count: 60 },
};

/** The threads of the process, with their titles in the table. */
export const THREADS = {
  main: "main thread",
  writer: "writer",
  encoder: "encoder",
  checkpoint: "log copier",
  others: "V8 and others",
};
