// Answers to the questions of runs, whoever stores them.
import "../../../__test__/tinyagents/answers.test.js";
import "../../agentos/answers.test.js";
import "../../langgraph/answered-once.test.js";
