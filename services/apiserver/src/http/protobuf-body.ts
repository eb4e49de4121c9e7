import type { ApiRequest } from '@holdfast/client';
import { badRequest, JsonSyntaxError, StatusError } from '@holdfast/machinery';
import { mediaTypeOf } from './body.ts';
import { withLazySignal } from './lazy-signal.ts';

const PROTOBUF = 'application/vnd.kubernetes.protobuf';

export const hasProtobufBody = (request: ApiRequest): boolean =>
  request.body !== undefined && request.body.length > 0 && mediaTypeOf(request) === PROTOBUF;

/**
 * Go clients send built-in kinds as protobuf; behind this point everything is JSON. The tables are loaded at the first such
 * request, so that nobody else pays for them.
 */
export async function withJsonBody(request: ApiRequest): Promise<ApiRequest> {
  if (!hasProtobufBody(request) || request.body === undefined) return request;
  const { decodeProtobufObject, WireError } = await import('@holdfast/api/protobuf');
  try {
    const object = decodeProtobufObject(asBytes(request.body));
    return withLazySignal(request, {
      body: JSON.stringify(object),
      headers: { ...request.headers, 'content-type': 'application/json' },
    });
  } catch (error) {
    if (error instanceof WireError) throw badRequest(`unable to decode the protobuf body: ${error.message}`, error);
    if (error instanceof JsonSyntaxError)
      throw badRequest(`unable to decode JSON inside the protobuf body: ${error.message}`);
    throw error;
  }
}

function asBytes(body: string | Uint8Array): Uint8Array {
  if (typeof body !== 'string') return body;
  throw new StatusError({ code: 400, reason: 'BadRequest', message: 'a protobuf body is bytes, not text' });
}
