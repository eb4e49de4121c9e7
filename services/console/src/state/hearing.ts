import { type Party, partiesOf, readHearing, type ServerReport } from '@holdfast/client/hearing';
import { createReader } from '@holdfast/client/why';
import { type Api, ApiFailure, type Fetch, readServerHealth } from './api.ts';
import { readingClientOf } from './reading-client.ts';
import { parse } from './times.ts';

/** The matrix, as far as this user may know it. */
export interface HearingAsked {
  readonly machine: {
    readonly fetch: Fetch;
    readonly now: () => number;
    readonly pause: (ms: number) => Promise<void>;
  };
  readonly guard: string;
  /** Names of API servers that can be asked one by one. */
  readonly servers: readonly string[];
  /** A moment of the past; empty: now. */
  readonly at: string;
}

/** A server that takes longer does not answer, for who looks at the page. */
const SERVER_ANSWERS_MS = 3_000;

export async function readParties(api: Api, { machine, guard, servers, at }: HearingAsked): Promise<readonly Party[]> {
  const { fetch, pause } = machine;
  const inTime = (name: string): Promise<string | undefined> =>
    Promise.race([readServerHealth(fetch, guard, name), pause(SERVER_ANSWERS_MS).then(() => undefined)]);
  const reportOf = async (name: string): Promise<ServerReport> => ({ name, readyz: await inTime(name) });
  const facts = await readHearing({
    reader: createReader(readingClientOf(api, at)),
    read: (path, query = new URLSearchParams()) => api.json(path, { query: Object.fromEntries(query) }),
    servers: async () =>
      servers.length === 0
        ? [{ name: 'API server', readyz: await readReadyz(api) }]
        : Promise.all(servers.map(reportOf)),
    now: machine.now(),
    at: parse(at),
  });
  return partiesOf(facts);
}

/** A server that is not ready answers with 500, and says in the same words what fails. */
async function readReadyz(api: Api): Promise<string | undefined> {
  try {
    return await api.text('/readyz', { query: { verbose: '' }, accept: 'text/plain' });
  } catch (error) {
    return error instanceof ApiFailure ? error.message : undefined;
  }
}
