import { type Party, partiesOf, readHearing } from '@holdfast/client/hearing';
import { createReader } from '@holdfast/client/why';
import { type Api, ApiFailure } from './api.ts';
import { readingClientOf } from './reading-client.ts';

/** Reads the rows of the matrix, as far as this user may know them. */
export async function readParties(api: Api, now: number): Promise<readonly Party[]> {
  const facts = await readHearing({
    reader: createReader(readingClientOf(api)),
    read: (path, query = new URLSearchParams()) => api.json(path, { query: Object.fromEntries(query) }),
    readyz: () => readReadyz(api),
    now,
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
