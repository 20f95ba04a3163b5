import { prove } from "../prove.js";

prove("agentos");
