import path from 'node:path';
import { pathToFileURL } from 'node:url';

const SOURCES = path.resolve(import.meta.dirname, '../../scripts/sources/use.mjs');

const flagsWith = (address: string): readonly string[] => [
  '--disable-warning=ExperimentalWarning',
  '--v8-pool-size=2',
  `--import=${address}`,
];

/** Node's flags as in `npm start` (scripts/front-door.mjs). */
export const NODE_FLAGS = flagsWith(pathToFileURL(SOURCES).href);

/** As where there is no bundle of these sources. */
export const SOURCE_FLAGS = flagsWith(`${pathToFileURL(SOURCES).href}?sources`);
