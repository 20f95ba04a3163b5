import { contract } from "../../suite/suite.js";

export default contract<any>({ contract: "mastra", url: import.meta.url, expectations: [], programs: {} });
