export type { KnownState } from './describe.ts';
export { createRelay, type Relay, type RelayDeps } from './relay.ts';
