/** Typed addresses of every built-in kind: `PODS`, `CONFIG_MAPS`, `EVENTS` (core), `EVENTS_EVENTS_V1`, ... */
export * from './generated/refs.ts';
