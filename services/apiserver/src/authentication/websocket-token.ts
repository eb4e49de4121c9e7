import type { ApiRequest } from '@holdfast/client';
import { unauthorized } from '@holdfast/machinery';
import { asksForWebSocket, bearerProtocols, offeredProtocols } from '@holdfast/platform/websocket';

/** The token that a browser sends as a sub-protocol of a WebSocket, because it can set no other header. */
export function webSocketToken({ headers }: ApiRequest): string | undefined {
  // Runs on every request.
  if (headers['sec-websocket-protocol'] === undefined || !asksForWebSocket(headers)) return undefined;
  const [encoded, second] = bearerProtocols(headers);
  if (encoded === undefined) return undefined;
  if (second !== undefined) throw unauthorized();
  const token = decoded(encoded);
  if (token === '') return undefined;
  // The answer names a protocol, and a token is not repeated.
  if (offeredProtocols(headers).length === 0) throw unauthorized();
  return token;
}

function decoded(encoded: string): string {
  if (!BASE64URL.test(encoded) || encoded.length % 4 === 1) throw unauthorized();
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(encoded, 'base64url'));
  } catch {
    throw unauthorized();
  }
}

/** Without padding. */
const BASE64URL = /^[\w-]*$/;
