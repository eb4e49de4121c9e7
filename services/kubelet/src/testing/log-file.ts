import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/** A log that is there while `body` runs. */
export async function withLog(text: string, body: (path: string) => Promise<void>): Promise<void> {
  const directory = mkdtempSync(path.join(tmpdir(), 'holdfast-log-'));
  const file = path.join(directory, 'log');
  writeFileSync(file, text);
  try {
    await body(file);
  } finally {
    rmSync(directory, { recursive: true });
  }
}
