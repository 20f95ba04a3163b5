// What deletes a person's data: see docs/personal-data.md.
import { ForkpointChats } from "forkpoint/ai";
import { forgets } from "../../__test__/personal-data.js";
import { assistant, user } from "./helpers.js";

forgets("AI SDK", "deleteChat(id)", {
  open: (target, options) => new ForkpointChats(target, options),
  async store(chats, person) {
    const asked = user(`My mail is ${person}@example.com.`, `u-${person}`);
    await chats.saveChat({ id: person, messages: [asked], metadata: { userId: person } });
    await chats.saveChat({ id: person, messages: [asked, assistant(`Noted, ${person}.`, `a-${person}`)] });
  },
  remove: (chats, person) => chats.deleteChat(person),
});
