import type { ApiRequest } from '@holdfast/client';

/**
 * A changed copy whose signal is made when somebody asks for it: a spread would ask, and few requests last long enough. `asked` is
 * not copied: it belongs to the body.
 */
export function withLazySignal(
  request: ApiRequest,
  changes: Omit<Partial<ApiRequest>, 'signal'>,
  signalOf = (): AbortSignal | undefined => request.signal,
): ApiRequest {
  const { method, path, query, headers, body, isOver, connection } = request;
  return {
    method,
    path,
    query,
    headers,
    ...(body === undefined ? {} : { body }),
    ...(isOver === undefined ? {} : { isOver }),
    ...(connection === undefined ? {} : { connection }),
    ...changes,
    get signal() {
      return signalOf();
    },
  };
}
