// The texts of the recorded runs.

/** A text that would do harm if a page or a terminal took it for more than a text. */
export const hostile = `"><img src=x onerror="window.harm=1"><script>window.harm=2</script>[click](javascript:window.harm=3)`;

/** Characters that move the cursor, turn text around, or stand for no character. */
export const control = "\u0000\u001b[31mred\u001b[0m \u202edrow\u202c \u0007 \ud800";

export const unicode = "👩‍👩‍👧‍👦 漢字 עברית مرحبا é";

/** An image of one pixel. */
export const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const markdown = `## Three hotels near Rossio

| hotel | price | stars |
|---|---:|---|
| Casa Alfama | 92 € | ★★★ |
| Hotel Baixa | **118 €** | ★★★★ |
| *Belém Rooms* | 74 € | ★★ |

1. Casa Alfama is the quietest.
2. Hotel Baixa has a \`late check-out\`.
   - ask at the desk
   - or by mail

> All three can be refunded until the day before.

\`\`\`ts
const total = nights * 92; // a comment
\`\`\`

More at https://example.com/lisbon and [the map](https://example.com/map).`;

/**
 * The turns of the long chat: what the person writes, the tool that the agent calls, what it returns, and what the agent
 * answers. `error`: the tool fails.
 */
export const turns = [
  {
    ask: "Hello! I want to see Lisbon for three days in March. Which flights are there?",
    think: "The traveller has named a city and a month, but no airport. The profile says Oslo.",
    tool: ["search_flights", { from: "OSL", to: "LIS", month: "2026-03", budget: { amount: 400, currency: "EUR" } }],
    result: JSON.stringify({ flights: [{ id: "TP 753", departs: "07:05", price: 341, stops: 0 }], seen: 42 }),
    answer: "TP 753 leaves at 07:05 and costs 341 €. It is the only direct flight within your budget.",
  },
  {
    ask: "And a hotel near Rossio?",
    tool: ["search_hotels", { city: "Lisbon", near: "Rossio", nights: 3 }],
    result: "Casa Alfama: 92 €\nHotel Baixa: 118 €\nBelém Rooms: 74 €",
    answer: markdown,
  },
  {
    ask: "Is the first one still free?",
    tool: ["check_hotel", { hotel: "Casa Alfama", from: "2026-03-03", to: "2026-03-06" }],
    error: "TimeoutError: the hotel's server has not answered within 10 s\n    at request (hotels.js:41:11)",
    answer: "The hotel's server does not answer. I try it again when you write the next time.",
  },
  {
    ask: "Please try again.",
    tool: ["check_hotel", { hotel: "Casa Alfama", from: "2026-03-03", to: "2026-03-06" }],
    result: JSON.stringify({ free: true, rooms: 2, rate: 92.5, refundable_until: "2026-03-02" }),
    answer: "Yes: two rooms are free, at 92.50 € a night.",
  },
  {
    ask: "What is on this picture?",
    image: true,
    tool: ["describe_image", { detail: "low" }],
    result: "A single pixel.",
    answer: "The picture has one pixel. Did it get lost on its way?",
  },
  {
    ask: `What does ${unicode} mean?`,
    tool: ["translate", { text: unicode, to: "en" }],
    result: `{"text":"${unicode}"}`,
    answer: `It is a family, and five words: ${unicode}`,
  },
  {
    ask: hostile,
    tool: ["look_up", { [hostile]: hostile, control }],
    result: `${hostile}\n${control}`,
    answer: `I do not run this: ${hostile} ${control}`,
  },
  {
    ask: "Do I need a visa?",
    think: "Norway is part of the Schengen area, and so is Portugal.",
    tool: ["rules", { citizen_of: "NO", to: "PT" }],
    result: "none",
    answer: "No. An identity card is enough.",
  },
  {
    ask: "How is the weather in March?",
    tool: ["weather", { city: "Lisbon", month: 3 }],
    result: JSON.stringify({
      days: Array.from({ length: 31 }, (_, day) => ({ day: day + 1, high: 15 + (day % 7), rain: day % 3 === 0 })),
    }),
    answer: "Between 15 and 21 °C, with rain on every third day.",
  },
  {
    ask: "Reserve the room, but do not pay yet.",
    tool: ["reserve", { hotel: "Casa Alfama", guests: 1, pay: false }],
    result: JSON.stringify({ reservation: "R-2219", until: "2026-03-02T18:00:00Z" }),
    answer: "Reserved as **R-2219**, until 2 March, 18:00.",
  },
  {
    ask: "Which tram goes to Alfama?",
    tool: ["routes", { from: "Rossio", to: "Alfama" }],
    result: "28E, 12E",
    answer: "Take the 28E. It leaves every ten minutes.",
  },
  {
    ask: "Summarise my trip in one sentence.",
    tool: ["read_notes", {}],
    result: "",
    answer: "You fly with TP 753 on 3 March, and stay three nights at Casa Alfama.",
  },
  {
    ask: "Mail this to ada@example.com.",
    tool: ["send_mail", { to: "ada@example.com", subject: "Lisbon", body: "You fly with TP 753." }],
    error: "550 mailbox unavailable",
    answer: "The mailbox of ada@example.com refuses the mail.",
  },
  {
    ask: "Then to ada@example.org.",
    tool: ["send_mail", { to: "ada@example.org", subject: "Lisbon", body: "You fly with TP 753." }],
    result: JSON.stringify({ accepted: true, id: "<m-1@example.org>" }),
    answer: "Sent.",
  },
  {
    ask: "Thank you. That is all.",
    think: "Nothing is left to do. The reservation has to be paid by 2 March.",
    tool: ["close", { reason: "done" }],
    result: "closed",
    answer: "You are welcome. Do not forget to pay R-2219 by 2 March.",
  },
];
