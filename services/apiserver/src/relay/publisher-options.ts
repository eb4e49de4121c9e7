import type { NatsBusOptions } from '@holdfast/bus/nats';
import type { Store } from '@holdfast/store';
import type { BusConfig } from '../config.ts';
import { lineageName } from '../lineage/token.ts';

/** The bus of an API server: what another store left on it is dropped. */
export function publisherOptions(
  { servers, user, tls }: Pick<BusConfig, 'servers' | 'user' | 'tls'>,
  { store, password }: { readonly store: Pick<Store, 'lineage'>; readonly password: string | undefined },
): Omit<NatsBusOptions, 'clock' | 'log'> {
  return {
    role: 'publisher',
    servers,
    incarnation: lineageName(store.lineage()),
    ...(user === undefined ? {} : { user }),
    ...(password === undefined ? {} : { password }),
    ...(tls === undefined ? {} : { tls }),
  };
}
