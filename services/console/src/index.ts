export { type ConsoleDeps, createConsoleHandler } from './server/console.ts';
export { Files } from './server/files.ts';
export { Sessions, type SessionsDeps } from './server/sessions.ts';
export type { Offers } from './server/sign-in.ts';
export { createUpstream, type NamedServer, type Upstream } from './server/upstream.ts';
