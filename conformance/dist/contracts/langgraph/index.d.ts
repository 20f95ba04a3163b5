declare const _default: import("../../suite/suite.js").Contract<any>;
export default _default;
