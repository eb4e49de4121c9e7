export * from './selectors.ts';
