export * from './kind.ts';
export * from './lifecycle.ts';
export * from './rules.ts';
