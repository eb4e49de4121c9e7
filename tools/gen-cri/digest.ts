import { createHash } from 'node:crypto';

/** The first line of a generated file: identifies its source, so that a check needs no protoc. */
export function digestLine(source: Uint8Array): string {
  return `// Of cri.proto ${createHash('sha256').update(source).digest('hex')}`;
}
