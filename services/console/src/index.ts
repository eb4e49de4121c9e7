export { type ConsoleDeps, createConsoleHandler } from './server/console.ts';
export { Sessions, type SessionsDeps } from './server/sessions.ts';
