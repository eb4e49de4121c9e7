import { existsSync } from 'node:fs';
import { statusErrorOf } from '@holdfast/client';
import type { BackupHead } from '@holdfast/store';
import { writeBackupFile } from '../../backup/backup-file.ts';
import { defineCommand, type Terminal } from '../command.ts';
import { misuse } from '../misuse.ts';
import { showWork } from '../terminal/work.ts';

const BACKUP_PATH = '/holdfast.io/backup/v1';

export const BACKUP = defineCommand({
  usage: 'backup FILE [--force]',
  about: `Writes all objects of a running cluster at one revision to a file, with their revisions and secrets. Needs the rights of
cluster-admin. Keep also the directory pki and tokens.csv of the data directory: they are no objects.`,
  settings: {
    force: { kind: 'boolean', help: 'Replace a file that exists' },
    json: { kind: 'boolean', help: 'Print one JSON document' },
  },
  act: async ({ settings: { json, force }, words: [file, ...more] }, session, terminal) => {
    if (file === undefined || more.length > 0) throw misuse('one file has to be named', 'Use `backup FILE`.');
    if (!force && existsSync(file)) throw misuse(`${file} exists`, 'Name another file, or replace it with --force.');
    const response = await session.ask(BACKUP_PATH);
    if (response.status >= 400 || response.body.kind !== 'stream') throw statusErrorOf(response);
    const { revision, objects, takenAt } = await written(file, response.body.chunks, terminal);
    terminal.print(
      json
        ? JSON.stringify({ file, revision, objects, takenAt })
        : `${objects} objects at revision ${revision} in ${file}`,
    );
  },
});

async function written(file: string, chunks: AsyncIterable<Uint8Array>, terminal: Terminal): Promise<BackupHead> {
  using work = showWork('objects in the backup', terminal);
  return await writeBackupFile(file, chunks, (done, total) => work.at(done, total));
}
