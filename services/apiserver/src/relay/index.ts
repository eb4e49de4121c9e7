export { type Describe, type Described, describeChange } from './describe.ts';
export { createRelay, type Relay, type RelayDeps } from './relay.ts';
