/** Has no declarations of its own. */
declare module "pg";
