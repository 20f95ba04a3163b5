import { prove } from "../prove.js";

prove("langgraph-store");
