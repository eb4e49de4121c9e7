import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const EVERYBODY_WRITES = 0o777;

/** A temporary folder where process pods may leave files for a test under any user. The caller removes it. */
export function openFolder(name: string): string {
  const folder = mkdtempSync(path.join(tmpdir(), `holdfast-${name}-`));
  chmodSync(folder, EVERYBODY_WRITES);
  return folder;
}
