import { contract } from "../../suite/suite.js";

export default contract<any>({ contract: "langgraph", url: import.meta.url, expectations: [], programs: {} });
