export const mutants = {};
export const open = () => ({});
