export { type Automaton, automatonOf } from './automaton.ts';
export * from './kind.ts';
export * from './lifecycle.ts';
export { patternSize } from './pattern-size.ts';
export * from './rules.ts';
