export { type Finding, isWait, type Wait } from './finding.ts';
export { type Asked, explain } from './kinds.ts';
export {
  PLACEMENT_API,
  PLACEMENT_PATH,
  type PlacementReport,
  type PlacementRow,
  placementPath,
  placementPodOf,
  placementRows,
  type RefusedNode,
  type RefusedRest,
} from './placement.ts';
export { createReader, type Known, type Reader, type ReadingClient } from './reader.ts';
export { documentOf, type Explained, paragraphOf } from './text.ts';
