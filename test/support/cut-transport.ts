import { type ApiRequest, type ApiTransport, TransportError } from '@holdfast/client';

/** A wire that can be cut: requests fail, answers that were on their way are lost, watches end. `tell` hears what gets through. */
export function cuttable(inner: ApiTransport, isCut: () => boolean, tell: (request: ApiRequest) => void): ApiTransport {
  return {
    request: async (request) => {
      if (isCut()) throw new TransportError('the wire is cut');
      tell(request);
      const response = await inner.request(request);
      if (isCut()) throw new TransportError('the wire is cut');
      if (response.body.kind !== 'watch') return response;
      return { ...response, body: { kind: 'watch', frames: cutFrames(response.body.frames, isCut) } };
    },
    close: () => inner.close(),
  };
}

async function* cutFrames<T>(frames: AsyncIterable<T>, isCut: () => boolean): AsyncGenerator<T> {
  for await (const frame of frames) {
    if (isCut()) throw new TransportError('the wire is cut');
    yield frame;
  }
}
