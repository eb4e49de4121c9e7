/** What clients of a scenario do all the time, and how many there are of each. The checkers judge what they are told. */
export const CLIENT_KINDS = {
  registers:
    'objects that four clients read, create, swap and remove by compare-and-swap: their histories are linearizable',
  rareRegisters: 'the same, for a moment every three seconds: they cost little',
  creates: 'clients that create objects: what was acknowledged is stored',
  counters: 'objects that four clients count up: no increment is lost or done twice',
  leases: 'Leases that four clients take in turn: one holder at a time, with tokens that grow',
  watchers: 'clients that watch, hang up and resume elsewhere: every change once and in order',
} as const;

export type ClientKind = keyof typeof CLIENT_KINDS;

export const clientKinds = (): readonly ClientKind[] => Object.keys(CLIENT_KINDS) as ClientKind[];
export const NO_CLIENTS: Readonly<Record<ClientKind, number>> = {
  registers: 0,
  rareRegisters: 0,
  creates: 0,
  counters: 0,
  leases: 0,
  watchers: 0,
};
/** Beside a schedule that nobody has written. */
export const CLIENTS_OF_RANDOM: Readonly<Record<ClientKind, number>> = {
  registers: 3,
  rareRegisters: 0,
  creates: 2,
  counters: 1,
  leases: 1,
  watchers: 2,
};
