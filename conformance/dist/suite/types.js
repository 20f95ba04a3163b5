/** All groups, in the order in which they run. */
export const groups = [
    "contract",
    "order",
    "hostile",
    "isolation",
    "restart",
    "retention",
    "race",
    "kill",
    "growth",
];
