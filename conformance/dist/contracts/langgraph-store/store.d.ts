/** What the suite uses of `BaseStore`. */
export interface Store {
    batch(operations: readonly object[]): Promise<any[]>;
    get(namespace: string[], key: string): Promise<Item | null>;
    put(namespace: string[], key: string, value: Record<string, any>): Promise<void>;
    delete(namespace: string[], key: string): Promise<void>;
    search(prefix: string[], options?: Record<string, any>): Promise<Item[]>;
    listNamespaces(options?: Record<string, any>): Promise<string[][]>;
}
/** An item as stores return it. */
export interface Item {
    value: Record<string, any>;
    key: string;
    namespace: string[];
    createdAt: Date;
    updatedAt: Date;
}
