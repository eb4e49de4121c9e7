import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { supportMatrix } from './support-matrix.ts';

writeFileSync(path.resolve(import.meta.dirname, '../../docs/support-matrix.md'), await supportMatrix());
