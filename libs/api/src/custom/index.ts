export { type Automaton, automatonOf } from './automaton.ts';
export * from './kind.ts';
export * from './lifecycle.ts';
export { PatternRoom } from './pattern-room.ts';
export * from './rules.ts';
