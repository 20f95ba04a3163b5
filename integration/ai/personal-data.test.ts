// What deletes a person's data: see docs/personal-data.md.
import { ForkpointChats } from "forkpoint/ai";
import { forgets } from "../../__test__/personal-data.js";
import { asking, assistant, user } from "./helpers.js";

forgets("AI SDK", "deleteChat(id)", {
  open: (target, options) => new ForkpointChats(target, options),
  async store(chats, person) {
    const asked = user(`My mail is ${person}@example.com.`, `u-${person}`);
    const stream = `stream-${person}`;
    await chats.saveChat({ id: person, messages: [asked], metadata: { userId: person }, activeStreamId: stream });
    const text = await chats.createNewResumableStream(stream, () => ReadableStream.from([`Noted, ${person}.`]));
    for await (const chunk of text) void chunk;
    const noted = assistant(`Noted, ${person}.`, `a-${person}`);
    const input = { to: person };
    await chats.saveChat({ id: person, messages: [asked, noted, asking(1, undefined, input)], endedStreamId: stream });
    await chats.takeApprovals(person, [asked, noted, asking(1, true, input)]);
  },
  remove: (chats, person) => chats.deleteChat(person),
});
