import { type ApiHandler, type ApiRequest, type ApiResponse, type ApiTransport, TransportError } from './port.ts';

/** Calls the request pipeline in this process: no network, no serialization, the same answers. */
export function createDirectTransport(handler: ApiHandler): ApiTransport {
  const closing = new AbortController();
  return {
    request: async (request) => {
      if (closing.signal.aborted) throw new TransportError('the transport is closed', { possiblySent: false });
      if (request.signal?.aborted === true) throw aborted(request.signal, false);
      const signal = AbortSignal.any([closing.signal, ...(request.signal === undefined ? [] : [request.signal])]);
      return answer(handler, { ...request, signal });
    },
    close: async () => closing.abort(new TransportError('the transport was closed')),
  };
}

async function answer(handler: ApiHandler, request: ApiRequest & { signal: AbortSignal }): Promise<ApiResponse> {
  const { promise: abandoned, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(aborted(request.signal, true));
  request.signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([handler(request), abandoned]);
  } catch (error) {
    if (error instanceof TransportError) throw error;
    throw new TransportError(`${request.method} ${request.path} ended without an answer`, { cause: error });
  } finally {
    request.signal.removeEventListener('abort', onAbort);
  }
}

function aborted(signal: AbortSignal, possiblySent: boolean): TransportError {
  return new TransportError('the request was aborted', { cause: signal.reason, possiblySent });
}
