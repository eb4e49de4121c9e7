import { createHash } from 'node:crypto';
import type { ApiRequest, ApiResponse } from '@holdfast/client';

/** The tag of a document while it is unchanged. */
export const tagOf = (bytes: Uint8Array): string => createHash('sha512').update(bytes).digest('hex').toUpperCase();

/** A document that the client may have already: it sends the tag it knows, and gets nothing but headers when that is still right. */
export function taggedAnswer(request: ApiRequest, tag: string, document: ApiResponse): ApiResponse {
  const etag = `"${tag}"`;
  const { 'content-type': _, ...others } = document.headers;
  if (isKnown(request.headers['if-none-match'], etag)) {
    return { status: 304, headers: { ...others, etag }, body: { kind: 'empty' } };
  }
  return { ...document, headers: { ...document.headers, etag } };
}

const isKnown = (known: string | undefined, etag: string): boolean =>
  known?.split(',').some((each) => {
    const tag = each.trim();
    return tag === '*' || tag === etag || tag === `W/${etag}`;
  }) === true;
