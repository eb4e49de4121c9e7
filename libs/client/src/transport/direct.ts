import { InFlight } from '@holdfast/platform';
import { type ApiHandler, type ApiRequest, type ApiResponse, type ApiTransport, TransportError } from './port.ts';

/** Calls the request pipeline in this process: no network, no serialization, the same responses. */
export function createDirectTransport(handler: ApiHandler): ApiTransport {
  return new DirectTransport(handler);
}

type Abandon = (error: TransportError) => void;

class DirectTransport implements ApiTransport {
  readonly #handler: ApiHandler;
  readonly #closing = new AbortController();
  /**
   * Requests that only the transport can abort, which are most. A listener on one signal for each would cost more than
   * the requests.
   */
  readonly #underWay = new InFlight<Abandon>();

  constructor(handler: ApiHandler) {
    this.#handler = handler;
  }

  request(request: ApiRequest): Promise<ApiResponse> {
    if (this.#closing.signal.aborted) {
      return Promise.reject(new TransportError('the transport is closed', { possiblySent: false }));
    }
    const { signal } = request;
    if (signal === undefined) return this.#answer({ ...request, signal: this.#closing.signal });
    if (signal.aborted) return Promise.reject(aborted(signal, false));
    return this.#answerAbortable(request, signal);
  }

  close(): Promise<void> {
    this.#closing.abort(new TransportError('the transport was closed'));
    for (const abandon of this.#underWay.values()) abandon(aborted(this.#closing.signal, true));
    this.#underWay.clear();
    return Promise.resolve();
  }

  #answer(request: ApiRequest): Promise<ApiResponse> {
    return new Promise((resolve, reject) => {
      const number = this.#underWay.add(reject);
      void this.#handled(request)
        .then(resolve, reject)
        .finally(() => this.#underWay.delete(number));
    });
  }

  /** Not AbortSignal.any for all: its weak references cost more than a short request. */
  async #answerAbortable(request: ApiRequest, signal: AbortSignal): Promise<ApiResponse> {
    const ending = new AbortController();
    const { promise: abandoned, reject } = Promise.withResolvers<never>();
    const abandon = (error: TransportError): void => {
      ending.abort(error.cause);
      reject(error);
    };
    const onAbort = (): void => abandon(aborted(signal, true));
    signal.addEventListener('abort', onAbort, { once: true });
    const number = this.#underWay.add(abandon);
    try {
      const response = await Promise.race([this.#handled({ ...request, signal: ending.signal }), abandoned]);
      if (lasts(response)) this.#endLater(ending, signal);
      return response;
    } finally {
      signal.removeEventListener('abort', onAbort);
      this.#underWay.delete(number);
    }
  }

  #endLater(ending: AbortController, signal: AbortSignal): void {
    const either = AbortSignal.any([this.#closing.signal, signal]);
    either.addEventListener('abort', () => ending.abort(either.reason), { once: true });
  }

  async #handled(request: ApiRequest): Promise<ApiResponse> {
    try {
      return await this.#handler(request);
    } catch (error) {
      if (error instanceof TransportError) throw error;
      throw new TransportError(`${request.method} ${request.path} ended without an answer`, { cause: error });
    }
  }
}

const lasts = ({ body }: ApiResponse): boolean => body.kind === 'watch' || body.kind === 'stream';

function aborted(signal: AbortSignal, possiblySent: boolean): TransportError {
  return new TransportError('the request was aborted', { cause: signal.reason, possiblySent });
}
