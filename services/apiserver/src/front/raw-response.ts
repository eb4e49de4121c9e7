import type { ServerResponse } from 'node:http';
import { Http2ServerResponse } from 'node:http2';

export type RawResponse = ServerResponse | Http2ServerResponse;

/**
 * Ends an answer before its end. Over HTTP/1.1 that ends the connection, also when the answer still waits for the one before it: Node would
 * else give the connection to an answer that is over, and the client would wait for ever.
 */
export function cutOff(raw: RawResponse): void {
  raw.destroy();
  if (!(raw instanceof Http2ServerResponse)) raw.req.socket.destroy();
}
