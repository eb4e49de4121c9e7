import { ENVIRONMENT_WALKS } from './environment.ts';
import { FILE_WALKS } from './files.ts';
import { NODE_WALKS } from './nodes.ts';
import { DATA_WALKS } from './volumes.ts';

export { runWalks } from './run-walks.ts';
export { OBJECTS } from './volumes.ts';

/** Every conformance test of storage and nodes that a single pod shows. */
export const WALKS = [...DATA_WALKS, ...FILE_WALKS, ...ENVIRONMENT_WALKS, ...NODE_WALKS];
