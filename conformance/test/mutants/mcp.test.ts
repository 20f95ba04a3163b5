import { prove } from "../prove.js";

prove("mcp");
