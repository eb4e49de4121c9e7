/** The part of `fetch` that the console uses. */
export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface Asked {
  readonly method?: string;
  readonly accept?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly contentType?: string;
  readonly signal?: AbortSignal;
}

export interface Api {
  json<T>(path: string, asked?: Asked): Promise<T>;
  text(path: string, asked?: Asked): Promise<string>;
  stream(path: string, asked?: Asked): Promise<AsyncIterable<string>>;
}

const GUARD_HEADER = 'x-holdfast-console';
/** The console makes a write with one id once, however often it comes. */
const WRITE_HEADER = 'x-holdfast-write';
const CLUSTER = '/ui/cluster';

/** The server's refusal, in its own words. */
export class ApiFailure extends Error {
  override readonly name = 'ApiFailure';
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }

  /** Asking again changes nothing. */
  get isFinal(): boolean {
    return this.code >= 400 && this.code < 500 && ![408, 410, 429].includes(this.code);
  }
}

export interface ApiDeps {
  readonly fetch: Fetch;
  readonly pause: (ms: number) => Promise<void>;
  readonly guard: () => string;
  /** A UUID for one write. */
  readonly newId: () => string;
  /** The session has ended. */
  readonly signedOut: () => void;
}

const AGAIN_MS = 300;
/** Four and a half seconds: a pod that starts changes the networks of its machine several times. */
const ATTEMPTS = 6;

type Pause = (ms: number) => Promise<void>;

/**
 * Asks again when a connection breaks, for requests that may be repeated. A browser breaks all its connections when any
 * network of its machine comes or goes, such as the one of a pod.
 */
export const patientFetch =
  (fetch: Fetch, pause: Pause): Fetch =>
  (url, init) =>
    patiently(async () => buffered(await fetch(url, init)), pause, init.signal);

/** The answer is read to its end before it counts. */
const buffered = async (response: Response): Promise<Response> =>
  response.body === null ? response : new Response(await response.arrayBuffer(), response);

async function patiently<T>(ask: () => Promise<T>, pause: Pause, signal?: AbortSignal | null): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await ask();
    } catch (error) {
      if (error instanceof ApiFailure || attempt === ATTEMPTS || signal?.aborted === true) throw error;
      await pause(AGAIN_MS * attempt);
    }
  }
}

export function createApi(deps: ApiDeps): Api {
  /** The answer is read to its end before it counts. */
  const whole = (path: string, asked: Asked = {}): Promise<string> => {
    const request = requestOf(deps, path, asked);
    return patiently(async () => (await send(deps, request)).text(), deps.pause, asked.signal);
  };
  return {
    json: async <T>(path: string, asked?: Asked) => JSON.parse(await whole(path, asked)) as T,
    text: whole,
    stream: async (path, asked = {}) => {
      const request = requestOf(deps, path, asked);
      return textOf(await patiently(() => send(deps, request), deps.pause, asked.signal));
    },
  };
}

type Request = Parameters<Fetch>;

function requestOf({ guard, newId }: ApiDeps, path: string, asked: Asked): Request {
  const query = new URLSearchParams(asked.query ?? {}).toString();
  const method = asked.method ?? 'GET';
  return [
    `${CLUSTER}${path}${query === '' ? '' : `?${query}`}`,
    {
      method,
      headers: {
        accept: asked.accept ?? 'application/json',
        [GUARD_HEADER]: guard(),
        ...(method === 'GET' ? {} : { [WRITE_HEADER]: newId() }),
        ...(asked.contentType === undefined ? {} : { 'content-type': asked.contentType }),
      },
      ...(asked.body === undefined ? {} : { body: asked.body }),
      ...(asked.signal === undefined ? {} : { signal: asked.signal }),
    },
  ];
}

async function send({ fetch, signedOut }: ApiDeps, request: Request): Promise<Response> {
  const response = await fetch(...request);
  if (response.ok) return response;
  if (response.status === 401) signedOut();
  throw new ApiFailure(response.status, await failureText(response));
}

/** A code opens a session once for each attempt, so that a lost answer can be asked for again. */
export type Credential = { readonly code: string; readonly attempt: string } | { readonly token: string };

export async function signIn(fetch: Fetch, credential: Credential): Promise<string> {
  const response = await fetch('/ui/session', {
    method: 'POST',
    headers: { [GUARD_HEADER]: 'sign-in', 'content-type': 'application/json' },
    body: JSON.stringify(credential),
  });
  if (!response.ok) throw new ApiFailure(response.status, await failureText(response));
  const { guard } = (await response.json()) as { readonly guard: string };
  return guard;
}

/** What the server of the console has beside the API. */
export interface Offers {
  /** The cluster was started for faults. */
  readonly play: boolean;
  /** Names of API servers that can be asked one by one; empty: there is one. */
  readonly servers: readonly string[];
  /** The time of a cluster that does not live on the clock of its machine, in milliseconds. */
  readonly now?: number;
}

export const NO_OFFERS: Offers = { play: false, servers: [] };

export async function readOffers(fetch: Fetch, guard: string): Promise<Offers> {
  const response = await fetch('/ui/session', { method: 'GET', headers: { [GUARD_HEADER]: guard } });
  return response.ok ? { ...NO_OFFERS, ...((await response.json()) as Partial<Offers>) } : NO_OFFERS;
}

/** `/readyz?verbose` of one API server, also of one that is not ready; undefined: no answer. */
export async function readServerHealth(fetch: Fetch, guard: string, name: string): Promise<string | undefined> {
  try {
    const init = { method: 'GET', headers: { [GUARD_HEADER]: guard, accept: 'text/plain' } };
    const response = await fetch(`/ui/servers/${name}/readyz?verbose=`, init);
    return response.status === 200 || response.status === 500 ? await response.text() : undefined;
  } catch {
    return undefined;
  }
}

/** Opens one WebSocket, at once. */
export async function ticketOf(fetch: Fetch, guard: string): Promise<string> {
  const response = await fetch('/ui/ticket', { method: 'POST', headers: { [GUARD_HEADER]: guard } });
  if (!response.ok) throw new ApiFailure(response.status, await failureText(response));
  const { ticket } = (await response.json()) as { readonly ticket: string };
  return ticket;
}

export async function signOut(fetch: Fetch, guard: string): Promise<void> {
  await fetch('/ui/session', { method: 'DELETE', headers: { [GUARD_HEADER]: guard } });
}

async function failureText(response: Response): Promise<string> {
  const text = await response.text();
  try {
    const { message } = JSON.parse(text) as { readonly message?: string };
    if (message !== undefined) return message;
  } catch {
    // Not a Status: the text says what it can.
  }
  return text === '' ? `the server answered ${response.status}` : text.slice(0, 500);
}

async function* textOf(response: Response): AsyncIterable<string> {
  if (response.body === null) return;
  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield decoder.decode(value, { stream: true });
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
