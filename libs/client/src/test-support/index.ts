export { FakeApi, type FakeChange, pathFor } from './fake-api.ts';
export { createVirtualClock, type VirtualClock } from './virtual-clock.ts';
