import { createHash } from 'node:crypto';
import { emitKinds } from './emit-kinds.ts';
import { emitRefs } from './emit-refs.ts';
import { emitSchemas } from './emit-schemas.ts';
import { emitTypes } from './emit-types.ts';
import { extended } from './extensions.ts';
import { kinds } from './kinds.ts';
import { readSwagger, stableStructs } from './swagger.ts';
import { typeNames } from './type-names.ts';

export const CHECKSUMS = 'checksums.json';

/** File name -> content, for libs/api/src/generated. */
export function generate(referenceDirectory: string): ReadonlyMap<string, string> {
  const swagger = extended(readSwagger(referenceDirectory));
  const structs = stableStructs(swagger);
  const names = typeNames(structs);
  const served = kinds(swagger, structs);
  const files = new Map<string, string>(emitSchemas(structs));
  files.set('types.ts', emitTypes(structs, names));
  files.set('kinds.ts', emitKinds(served));
  files.set('refs.ts', emitRefs(served, names));
  files.set(CHECKSUMS, checksums(files));
  return files;
}

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

function checksums(files: ReadonlyMap<string, string>): string {
  const rows = [...files].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, text]) => [name, sha256(text)]);
  return `${JSON.stringify(Object.fromEntries(rows), null, 2)}\n`;
}
