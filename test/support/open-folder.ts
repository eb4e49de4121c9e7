import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

const EVERYBODY_WRITES = 0o777;

/** A temporary folder of this machine where pods that are processes may leave signs for a test, whoever they run as. The caller removes it. */
export function openFolder(name: string): string {
  const folder = mkdtempSync(path.join(tmpdir(), `holdfast-${name}-`));
  chmodSync(folder, EVERYBODY_WRITES);
  return folder;
}
