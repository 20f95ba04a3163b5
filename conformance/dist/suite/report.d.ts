import { type Level, type Report, type Result } from "./types.js";
/** Returns a Markdown table. */
export declare function table(head: readonly string[], rows: ReadonlyArray<readonly string[]>): string;
/** Returns true for results that make a run fail. */
export declare const isBad: ({ status }: Result) => boolean;
/** Returns how many expectations of each level are met, of how many. What was skipped is not met. */
export declare function counts({ results }: Report): Record<Level, {
    met: number;
    of: number;
}>;
/** Returns what the framework's own suite has said, in a few words. */
export declare function upstreamOf({ upstream }: Report): string;
/** Returns the report as Markdown: the counts, then each group, then the figures. */
export declare function markdown(report: Report): string;
/** Returns reports of one contract side by side, as Markdown: the counts, what not all do, and the figures. */
export declare function compare(reports: readonly Report[]): string;
