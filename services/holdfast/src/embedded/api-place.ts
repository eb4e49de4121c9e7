/** Wildcard addresses: they mean every address of the machine, and a client cannot connect to them. */
export const ANY_ADDRESS: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

/** Returns the host under which programs of this machine reach a server that listens on `host`. */
export const hostOnMachine = (host: string): string => (ANY_ADDRESS.has(host) ? '127.0.0.1' : host);

/** Nothing but programs of this machine reaches a server that listens on `host`. */
export const isOnlyOnMachine = (host: string): boolean =>
  host === 'localhost' || host === '::1' || host.startsWith('127.');
