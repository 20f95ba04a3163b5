import type { Saver } from "./store.js";
declare const _default: import("../../suite/suite.js").Contract<Saver>;
export default _default;
