export {
studioHandler
};
export type {
StudioHandler
StudioHandlerOptions
StudioRequest
StudioRequestHeaders
StudioResponse
};
interface StudioHandler extends AsyncDisposable {
    (request: StudioRequest, response: StudioResponse): Promise<void>;
    close(): Promise<void>;
}
interface StudioHandlerOptions {
    authorize(request: StudioRequest): boolean | Promise<boolean>;
    hosts: readonly string[];
    basePath?: string;
    write?: boolean;
}
interface StudioRequest {
    readonly method?: string | undefined;
    readonly url?: string | undefined;
    readonly headers: StudioRequestHeaders;
    readonly socket: {
        readonly remoteAddress?: string | undefined;
    };
}
interface StudioRequestHeaders {
    readonly authorization?: string | undefined;
    readonly cookie?: string | undefined;
    readonly host?: string | undefined;
    readonly origin?: string | undefined;
    readonly [name: string]: string | string[] | undefined;
}
interface StudioResponse {
    writeHead(status: number): unknown;
    end(): unknown;
}
declare function studioHandler(store: Store | Inspector, options: StudioHandlerOptions): StudioHandler;
