export { type Finding, isWait, type Wait } from './finding.ts';
export { type Asked, explain } from './kinds.ts';
export { createReader, type Known, type Reader, type ReadingClient } from './reader.ts';
export { documentOf, type Explained, paragraphOf } from './text.ts';
