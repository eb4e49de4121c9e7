export * from './api-services.ts';
export * from './nodes.ts';
export * from './pods.ts';
export * from './required-nodes.ts';
export * from './selectors.ts';
export * from './tolerations.ts';
export * from './well-known.ts';
