import { contract } from "../../suite/suite.js";
export default contract({ contract: "langgraph", url: import.meta.url, expectations: [], programs: {} });
