import { Store } from "./index.js";
import { Inspector } from "./inspect.js";
interface StudioRequestHeaders {
    readonly authorization?: string | undefined;
    readonly cookie?: string | undefined;
    readonly host?: string | undefined;
    readonly origin?: string | undefined;
    readonly [name: string]: string | string[] | undefined;
}
interface StudioRequest {
    readonly method?: string | undefined;
    readonly url?: string | undefined;
    readonly headers: StudioRequestHeaders;
    readonly socket: {
        readonly remoteAddress?: string | undefined;
    };
}
interface StudioResponse {
    writeHead(status: number): unknown;
    end(): unknown;
}
interface StudioHandlerOptions {
    authorize(request: StudioRequest): boolean | Promise<boolean>;
    hosts: readonly string[];
    basePath?: string;
    write?: boolean;
}
interface StudioHandler extends AsyncDisposable {
    (request: StudioRequest, response: StudioResponse): Promise<void>;
    close(): Promise<void>;
}
declare function studioHandler(store: Store | Inspector, options: StudioHandlerOptions): StudioHandler;
export { studioHandler };
export type { StudioHandler, StudioHandlerOptions, StudioRequest, StudioRequestHeaders, StudioResponse };
