import type { IncomingMessage } from 'node:http';

/**
 * Node's HTTP modules, loaded on first use. An `import` of `node:http` evaluates all its exports, and some of them
 * (WebSocket, CloseEvent) load a library of 13 MB in 45 ms, once per thread. `node:https` and `node:http2` take 7 and
 * 12 MB that many processes never need.
 */
export const nodeHttp = (): typeof import('node:http') => process.getBuiltinModule('node:http');
export const nodeHttps = (): typeof import('node:https') => process.getBuiltinModule('node:https');
export const nodeHttp2 = (): typeof import('node:http2') => process.getBuiltinModule('node:http2');
export const nodeTls = (): typeof import('node:tls') => process.getBuiltinModule('node:tls');

/** Characters of an unexpected response that the error repeats. */
const WORDS_CHARS_MAX = 500;

/** Returns the body of a 200 response from `whom`. Rejects any other status, and a body above `bytesMax`. */
export async function readOkText(answer: IncomingMessage, whom: string, bytesMax: number): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of answer) {
    const buffer = Buffer.from(chunk);
    bytes += buffer.length;
    if (bytes > bytesMax) throw new Error(`the answer of ${whom} is too large`);
    chunks.push(buffer);
  }
  const text = Buffer.concat(chunks).toString('utf8');
  if (answer.statusCode === 200) return text;
  throw new Error(`${whom} answered with status ${answer.statusCode}: ${text.slice(0, WORDS_CHARS_MAX)}`);
}
