import { createHash } from 'node:crypto';
import path from 'node:path';

/** The first line of a generated file: identifies its source, so that a check needs no protoc. */
export function digestLine(proto: string, source: Uint8Array): string {
  return `// Of ${path.basename(proto)} ${createHash('sha256').update(source).digest('hex')}`;
}
