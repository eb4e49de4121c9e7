export type { KnownState } from './describe.ts';
export { publisherOptions } from './publisher-options.ts';
export { createRelay, type Relay, type RelayDeps } from './relay.ts';
