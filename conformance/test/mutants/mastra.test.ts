import { prove } from "../prove.js";

prove("mastra");
