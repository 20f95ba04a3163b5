/** What the suite uses of `BaseStore`. */
export interface Store {
  batch(operations: readonly object[]): Promise<any[]>;
  get(namespace: string[], key: string): Promise<Item | null>;
  put(namespace: string[], key: string, value: Value): Promise<void>;
  delete(namespace: string[], key: string): Promise<void>;
  search(prefix: string[], options?: Search): Promise<Item[]>;
  listNamespaces(options?: Listing): Promise<string[][]>;
}

export type Value = Record<string, any>;

/** An item as stores return it. */
export interface Item {
  value: Value;
  key: string;
  namespace: string[];
  createdAt: Date;
  updatedAt: Date;
}

export interface Search {
  filter?: Value;
  limit?: number;
  offset?: number;
}

export interface Listing {
  prefix?: string[];
  suffix?: string[];
  maxDepth?: number;
  limit?: number;
  offset?: number;
}
