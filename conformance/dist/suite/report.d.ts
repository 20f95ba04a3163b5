import { type Level, type Report, type Result } from "./types.js";
/** Returns a Markdown table. */
export declare function table(head: readonly string[], rows: ReadonlyArray<readonly string[]>): string;
/** Returns true for results that make a run fail. */
export declare const isBad: ({ status }: Result) => boolean;
/** How many expectations of a level a store meets, of those that were tried, and how many were skipped. */
export interface Count {
    readonly met: number;
    readonly of: number;
    readonly skipped: number;
}
/** Returns how many expectations of each level a store meets. */
export declare function counts({ results }: Report): Record<Level, Count>;
/** Returns a count in words. */
export declare const inWords: ({ met, of, skipped }: Count) => string;
/** Returns what the framework's own suite has said, in a few words. */
export declare function upstreamOf({ upstream }: Report): string;
/** Returns the report as Markdown: the counts, then each group, then the figures. */
export declare function markdown(report: Report): string;
/** Returns reports of one contract side by side, as Markdown: the counts, what not all do, the figures, and the failures. */
export declare function compare(reports: readonly Report[]): string;
