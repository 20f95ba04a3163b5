import type { Store } from "./store.js";
declare const _default: import("../../suite/suite.js").Contract<Store>;
export default _default;
