import type { ApiRequest, HttpMethod } from '@holdfast/client';
import { badRequest } from '@holdfast/machinery';
import { methodNotAllowed } from '../http/refusals.ts';
import type { Exchange } from './exchange.ts';
import type { RequestMessage } from './messages.ts';

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
const isMethod = (text: string): text is HttpMethod => METHODS.has(text);

export function readRequest(message: RequestMessage, bytes: Buffer | undefined, exchange: Exchange): ApiRequest {
  const { method, url, headers, text, remoteAddress, clientCertificate } = message;
  if (!isMethod(method)) throw methodNotAllowed();
  const question = url.indexOf('?');
  const body = text ?? bytes;
  return {
    method,
    path: decodePath(question < 0 ? url : url.slice(0, question)),
    query: new URLSearchParams(question < 0 ? '' : url.slice(question + 1)),
    headers,
    ...(body === undefined ? {} : { body }),
    get signal() {
      return exchange.signal;
    },
    connection: clientCertificate === undefined ? { remoteAddress } : { remoteAddress, clientCertificate },
  };
}

function decodePath(raw: string): string {
  if (!raw.includes('%')) return raw;
  try {
    return decodeURIComponent(raw);
  } catch (error) {
    throw badRequest('the path is not valid percent-encoding', error);
  }
}
