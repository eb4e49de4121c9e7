import { CONFIG_MAPS, SECRETS } from '@holdfast/api';
import type { ApiClient } from '@holdfast/client';

/** The contents of `ConfigMap/name` or `Secret/name`; `undefined` when it does not exist. */
export async function readBytes(
  client: ApiClient,
  namespace: string,
  reference: string,
): Promise<Readonly<Record<string, Uint8Array>> | undefined> {
  const [kind = '', name = ''] = reference.split('/');
  if (kind === 'ConfigMap') {
    const found = await client.find(CONFIG_MAPS, { namespace, name });
    if (found === undefined) return undefined;
    return { ...mapValues(found.data, (text) => Buffer.from(text)), ...mapValues(found.binaryData, decoded) };
  }
  const found = await client.find(SECRETS, { namespace, name });
  return found === undefined ? undefined : mapValues(found.data, decoded);
}

/** As variables: text only. */
export async function readTexts(
  client: ApiClient,
  namespace: string,
  reference: string,
): Promise<Readonly<Record<string, string>> | undefined> {
  const found = await readBytes(client, namespace, reference);
  return found === undefined ? undefined : mapValues(found, (bytes) => Buffer.from(bytes).toString('utf8'));
}

const decoded = (base64: string): Uint8Array => Buffer.from(base64, 'base64');

function mapValues<A, B>(record: Readonly<Record<string, A>> = {}, change: (value: A) => B): Record<string, B> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value)]));
}
