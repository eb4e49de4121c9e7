/**
 * Node's modules for HTTP, loaded by the first who asks. An `import` of `node:http` reads everything that it exports, and some of
 * that (WebSocket, CloseEvent) loads a library of 13 MB in 45 ms, once for each thread; `node:https` and
 * `node:http2` are 7 and 12 MB that many processes never need.
 */
export const nodeHttp = (): typeof import('node:http') => process.getBuiltinModule('node:http');
export const nodeHttps = (): typeof import('node:https') => process.getBuiltinModule('node:https');
export const nodeHttp2 = (): typeof import('node:http2') => process.getBuiltinModule('node:http2');
export const nodeTls = (): typeof import('node:tls') => process.getBuiltinModule('node:tls');
