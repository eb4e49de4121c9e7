import type { IncomingMessage } from 'node:http';

/**
 * Node's modules for HTTP, loaded by the first who asks. An `import` of `node:http` reads everything that it exports, and some of
 * that (WebSocket, CloseEvent) loads a library of 13 MB in 45 ms, once for each thread; `node:https` and
 * `node:http2` are 7 and 12 MB that many processes never need.
 */
export const nodeHttp = (): typeof import('node:http') => process.getBuiltinModule('node:http');
export const nodeHttps = (): typeof import('node:https') => process.getBuiltinModule('node:https');
export const nodeHttp2 = (): typeof import('node:http2') => process.getBuiltinModule('node:http2');
export const nodeTls = (): typeof import('node:tls') => process.getBuiltinModule('node:tls');

/** Of an answer that is none, this much is told. */
const WORDS_CHARS_MAX = 500;

/** The text of a 200 from `whom`, which may not be longer than that. */
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
