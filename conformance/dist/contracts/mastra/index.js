import { contract } from "../../suite/suite.js";
export default contract({ contract: "mastra", url: import.meta.url, expectations: [], programs: {} });
