import path from 'node:path';
import { pathToFileURL } from 'node:url';

const SOURCES = path.resolve(import.meta.dirname, '../../scripts/sources/use.mjs');

/** Node's flags as in `npm start` (scripts/front-door.mjs). */
export const NODE_FLAGS: readonly string[] = [
  '--disable-warning=ExperimentalWarning',
  '--v8-pool-size=2',
  `--import=${pathToFileURL(SOURCES).href}`,
];
