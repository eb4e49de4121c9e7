import type { Server } from 'node:tls';
import { invariant } from '@holdfast/platform/invariant';

/** PEM texts. With `clientCa`, client certificates are requested and passed to the pipeline when they verify. */
export interface TlsTexts {
  readonly certificate: string;
  readonly key: string;
  readonly clientCa?: string;
}

/** What a renewal of the certificate sets again: Node forgets every option of a context that is replaced. */
export const contextOptions = ({ certificate, key, clientCa }: TlsTexts) => ({
  cert: certificate,
  key,
  minVersion: 'TLSv1.2' as const,
  ...(clientCa === undefined ? {} : { ca: clientCa }),
});

/** What is used of Fastify here. */
interface Listener {
  readonly server: Pick<Server, 'setSecureContext'>;
}

/** Connections that are open, and their requests, go on with what they have. */
export function useForNewConnections(fastify: Listener, tls: TlsTexts): void {
  for (const each of [fastify.server, ...furtherServers(fastify)]) each.setSecureContext(contextOptions(tls));
}

/** "localhost" may have several addresses: Fastify keeps a server for each further one, and only under this symbol. */
function furtherServers(fastify: object): readonly Server[] {
  const symbol = Object.getOwnPropertySymbols(fastify).find(
    ({ description }) => description === 'fastify.serverBindings',
  );
  invariant(symbol !== undefined, 'Fastify keeps its further servers under a symbol');
  return Reflect.get(fastify, symbol) as Server[];
}
