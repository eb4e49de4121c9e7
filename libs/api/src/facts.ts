/** What objects mean, without a module that needs Node: pages for browsers import it, too. */
export type * from './generated/types.ts';
export * from './kinds/node/fence.ts';
export * from './kinds/node/promise.ts';
export * from './refs.ts';
export type * from './resource.ts';
export * from './semantics/exclusive.ts';
export * from './semantics/jobs.ts';
export * from './semantics/nodes.ts';
export * from './semantics/pods.ts';
export * from './semantics/selectors.ts';
export * from './semantics/storage.ts';
export * from './semantics/tolerations.ts';
export * from './semantics/well-known.ts';
