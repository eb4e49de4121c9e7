export * from './bootstrap-levels.ts';
export type * from './bootstrap-object.ts';
export * from './bootstrap-schemas.ts';
export * from './precedence.ts';
export * from './upkeep.ts';
